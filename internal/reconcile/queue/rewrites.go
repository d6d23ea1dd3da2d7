package queue

import (
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/kube/object"
)

// maxRewrites limits the number of fields in each list.
const maxRewrites = 5

// Rewrites records which fields of a parent's status and children are repeatedly written, and whether another client
// reverts them or the templates change them.
type Rewrites struct {
	taken []string                  // changed by another client
	own   []string                  // rendered differently each time
	last  map[string]map[string]any // last written content by "status" or child
}

// publisher returns the path of a field in contents in a form that messages may contain.
type publisher func(path string, contents ...map[string]any) string

// NewRewrites returns empty Rewrites.
func NewRewrites() *Rewrites { return &Rewrites{last: map[string]map[string]any{}} }

// take records a field that another client changed.
func (f *Rewrites) take(field string) { f.taken = noted(f.taken, field) }

// Apply records the write of a child. drift is the field that another client changed, or "" if unknown. If content is
// the same as the last time, another client must have reverted it.
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

// Status records the write of a status. owned are the status fields that templater owns. Conditions are ignored: they
// follow the rest.
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

// since returns the first field in which content differs from the last content of that name. again is false if there is
// none.
func (f *Rewrites) since(name string, content map[string]any) (path string, again bool) {
	last, again := f.last[name]
	f.last[name] = content
	if !again {
		return "", false
	}
	return differs(content, last), true
}

// Remove records that a child is no longer rendered.
func (f *Rewrites) Remove(what string) {
	delete(f.last, what)
	f.own = noted(f.own, what)
}

func noted(fields []string, field string) []string {
	if len(fields) == maxRewrites || slices.Contains(fields, field) {
		return fields
	}
	return slices.Sorted(slices.Values(append(fields, field)))
}

// Advice describes the fields that are repeatedly written, and how to fix that. f may be nil.
func (f *Rewrites) Advice() string {
	var out []string
	if f != nil && len(f.taken) > 0 {
		out = append(out, "another client keeps changing "+strings.Join(f.taken, ", ")+": find it with kubectl get -o yaml --show-managed-fields, and let only one of the two set these fields: that client or the template")
	}
	if f != nil && len(f.own) > 0 {
		out = append(out, "the templates render different output in every reconciliation for "+strings.Join(f.own, ", ")+": do not compute these fields from fields that templater writes")
	}
	if len(out) == 0 {
		return "every reconciliation of this object causes another write: find the client that also writes to it or its children (kubectl get -o yaml --show-managed-fields)"
	}
	return strings.Join(out, "; ")
}

// differs returns the path of the first field whose values differ, or "" if there is none.
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
