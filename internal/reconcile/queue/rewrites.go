package queue

import (
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/kube/object"
)

// mostRewrites is how many fields are remembered of each sort.
const mostRewrites = 5

// Rewrites are the fields of a parent's status and children that are written over and over,
// by whose doing that is.
type Rewrites struct {
	taken []string                  // somebody else changes them
	own   []string                  // the templates yield something else each time
	last  map[string]map[string]any // what was last written, by what it was
}

// publisher returns the path of a field in contents as it may be in a message.
type publisher func(path string, contents ...map[string]any) string

// NewRewrites returns Rewrites of which nothing is known.
func NewRewrites() *Rewrites { return &Rewrites{last: map[string]map[string]any{}} }

// take notes a field that somebody else had taken.
func (f *Rewrites) take(field string) { f.taken = noted(f.taken, field) }

// Apply notes the write of a child with that content; drift is the field of it that somebody has taken, if known. When it is the
// same as the last time, somebody else has undone that.
func (f *Rewrites) Apply(what string, content map[string]any, drift string, public publisher) {
	last := f.last[what]
	path, again := f.since(what, content)
	switch {
	case drift != "":
		f.take(what + " " + public(drift, content))
	case path != "":
		f.own = noted(f.own, what+" "+public(path, content, last))
	case again:
		f.take(what)
	}
}

// Status notes the write of a status; owned are the fields of the parent's status that are ours. Conditions
// are left out: they follow the rest.
func (f *Rewrites) Status(owned object.FieldSet, status map[string]any, public publisher) {
	last := f.last["status"]
	status = maps.Clone(status)
	delete(status, "conditions")
	path, again := f.since("status", status)
	switch taken := owned.UncoveredValue(status); {
	case path != "":
		f.own = noted(f.own, ".status"+public(path, status, last))
	case again && taken != "":
		f.take(".status" + public(taken, status))
	}
}

// since returns the first field in which the content differs from the last of that name, and whether there
// was one.
func (f *Rewrites) since(name string, content map[string]any) (path string, again bool) {
	last, again := f.last[name]
	f.last[name] = content
	if !again {
		return "", false
	}
	return differs(content, last), true
}

// Remove notes a child that the templates yield no more.
func (f *Rewrites) Remove(what string) {
	delete(f.last, what)
	f.own = noted(f.own, what)
}

func noted(fields []string, field string) []string {
	if len(fields) == mostRewrites || slices.Contains(fields, field) {
		return fields
	}
	return slices.Sorted(slices.Values(append(fields, field)))
}

// Advice says what flaps, and what to do.
func (f *Rewrites) Advice() string {
	var out []string
	if f != nil && len(f.taken) > 0 {
		out = append(out, "another client keeps changing "+strings.Join(f.taken, ", ")+": find it with kubectl get -o yaml --show-managed-fields, and let only one of the two write that")
	}
	if f != nil && len(f.own) > 0 {
		out = append(out, "the templates render something different each time for "+strings.Join(f.own, ", ")+": do not compute it from what templater itself writes")
	}
	if len(out) == 0 {
		return "every reconciliation of this object writes again: find the client that also writes to it or its children (kubectl get -o yaml --show-managed-fields)"
	}
	return strings.Join(out, "; ")
}

// differs returns the path of the first field whose values differ, or "" when there is none.
func differs(a, b map[string]any) string {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		x, xok := a[name]
		y, yok := b[name]
		if xok && yok && object.EqualValues(x, y) {
			continue
		}
		inner, isMap := x.(map[string]any)
		other, bothMaps := y.(map[string]any)
		if isMap && bothMaps {
			return "." + name + differs(inner, other)
		}
		return "." + name
	}
	return ""
}
