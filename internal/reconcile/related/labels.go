package related

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/templater-dev/templater/internal/kube/object"
)

// labelSet is requirements on labels, all of which have to be met. It is a labels.Selector that takes a fraction of the memory.
type labelSet struct {
	all []requirement // by key
}

// requirement is on one label. Its texts are parts of one text.
type requirement struct {
	key string
	// values have a comma after each, which no value holds; "" = any value.
	values string
	// has is whether the label has to have one of the values, and not none of them.
	has bool
}

// compact returns the requirements of a selector, nil where there are none.
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

// holds reports whether a value is among those of the requirement.
func (r requirement) holds(value string) bool {
	for rest := r.values; rest != ""; {
		var one string
		if one, rest, _ = strings.Cut(rest, ","); one == value {
			return true
		}
	}
	return r.values == ""
}

// pair returns a label and the value that it has to have, or nothing.
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
