package related

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/templater-dev/templater/internal/kube/object"
)

// labelSet is a set of label requirements, which must all be met. It is like a labels.Selector that uses a fraction of
// the memory.
type labelSet struct {
	all []requirement // sorted by key
}

// requirement is a requirement for one label. Its strings share one allocation.
type requirement struct {
	key string
	// values has a comma after each value, which values cannot contain; "" = any value.
	values string
	// has is true if the label must have one of the values, and false if it must have none of them.
	has bool
}

// compact converts a selector. It returns nil if the selector has no requirements.
func compact(of labels.Selector) *labelSet {
	requirements, _ := of.Requirements()
	if len(requirements) == 0 {
		return nil
	}
	slices.SortStableFunc(requirements, func(a, b labels.Requirement) int { return cmp.Compare(a.Key(), b.Key()) })
	var text strings.Builder
	for _, r := range requirements {
		text.WriteString(r.Key())
		for _, value := range r.ValuesUnsorted() {
			text.WriteString(value)
			text.WriteByte(',')
		}
	}
	all, rest := make([]requirement, 0, len(requirements)), text.String()
	for _, r := range requirements {
		next := requirement{key: rest[:len(r.Key())]}
		rest = rest[len(r.Key()):]
		end := 0
		for _, value := range r.ValuesUnsorted() {
			end += len(value) + 1
		}
		next.values, rest = rest[:end], rest[end:]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals, selection.Exists:
			next.has = true
		case selection.NotIn, selection.NotEquals, selection.DoesNotExist, selection.GreaterThan, selection.LessThan:
		}
		all = append(all, next)
	}
	return &labelSet{all}
}

// match reports whether the labels of an object meet all requirements.
func (l *labelSet) match(o *object.Object) bool {
	for _, r := range l.all {
		value, there := o.Lookup(r.key)
		if (there && r.holds(value)) != r.has {
			return false
		}
	}
	return true
}

// holds reports whether value is one of the values of the requirement.
func (r requirement) holds(value string) bool {
	for rest := r.values; rest != ""; {
		var one string
		if one, rest, _ = strings.Cut(rest, ","); one == value {
			return true
		}
	}
	return r.values == ""
}

// pair returns a label with the only value that it may have, or "" if there is none.
func (l *labelSet) pair() (key, value string) {
	for _, r := range l.all {
		if one, rest, _ := strings.Cut(r.values, ","); r.has && r.values != "" && rest == "" {
			return r.key, one
		}
	}
	return "", ""
}

func (l *labelSet) size() int {
	n := labelsSize
	for _, r := range l.all {
		n += requirementSize + len(r.key) + len(r.values)
	}
	return n
}
