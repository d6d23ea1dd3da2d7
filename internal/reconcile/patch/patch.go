// Package patch decides about fields that a parent sets in objects that are not its children: which fields it can set, when an apply is needed,
// and how the fields are released. It has no side effects.
//
// Each parent has its own field manager, so that a release removes exactly its fields. Requests have the UID of the object, so that they never
// create one, and never change another object that has the same name by now.
package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// MaxParents is how many parents can patch the same object.
const MaxParents = 16

// Fault returns why a rendered document cannot be a patch, or "".
func Fault(content map[string]any) string {
	if fault := child.ShapeFault(content); fault != "" {
		return fault
	}
	metadata, _ := content["metadata"].(map[string]any)
	if _, ok := metadata["finalizers"]; ok {
		return "metadata.finalizers must not be set: a patch cannot add or remove finalizers"
	}
	return ""
}

// ParentFault returns why a patch of the parent itself is refused, or "": it must not set fields that decide whether the object is a parent.
func ParentFault(content map[string]any, watch *v1.Watch) string {
	if watch.Filter != "" {
		return "it patches its parent, but spec.watch.filter can read any field of it: use a labelSelector instead of the filter"
	}
	const format = "it sets %s of its parent, which spec.watch.%s reads: a patch must not decide whether the object is a parent"
	labels := labelsOf(content)
	for _, key := range selectedLabels(watch.LabelSelector) {
		if _, ok := labels[key]; ok {
			return fmt.Sprintf(format, "a label", "labelSelector")
		}
	}
	selector, err := fields.ParseSelector(watch.FieldSelector)
	if err != nil {
		return "" // the spec is rejected
	}
	for _, r := range selector.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" && has(content, strings.Split(r.Field, ".")) {
			return fmt.Sprintf(format, r.Field, "fieldSelector")
		}
	}
	return ""
}

// NamespaceFault returns why a patch of the Namespace of the parent is refused, or "": it must not set labels of the namespaceSelector.
func NamespaceFault(content map[string]any, watch *v1.Watch) string {
	labels := labelsOf(content)
	for _, key := range selectedLabels(watch.NamespaceSelector) {
		if _, ok := labels[key]; ok {
			return "it sets a label of the parent's Namespace, which spec.watch.namespaceSelector reads: a patch must not decide whether an object is a parent"
		}
	}
	return ""
}

func labelsOf(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	return labels
}

func selectedLabels(s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	var keys []string
	for key := range s.MatchLabels {
		keys = append(keys, key)
	}
	for _, e := range s.MatchExpressions {
		keys = append(keys, e.Key)
	}
	return keys
}

// has reports whether content sets the field at a path, or a part of it.
func has(content any, path []string) bool {
	m, ok := content.(map[string]any)
	if len(path) == 0 || !ok {
		return true
	}
	below, ok := m[path[0]]
	return ok && has(below, path[1:])
}

// withoutIdentity returns content without the fields that identify the object.
func withoutIdentity(content map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range content {
		switch metadata, ok := value.(map[string]any); {
		case name == "apiVersion" || name == "kind":
		case name == "metadata" && ok:
			rest := map[string]any{}
			for field, below := range metadata {
				if field != "name" && field != "namespace" {
					rest[field] = below
				}
			}
			out[name] = rest
		default:
			out[name] = value
		}
	}
	return out
}

// Conflict returns why an existing object cannot be patched by a field manager, or nil. what is the object, for the message.
func Conflict(there *object.Object, what, manager string) *problem.Problem {
	if owner, has := there.Controller(); has {
		p := problem.Newf(v1.ReasonChildConflict, "%s belongs to %s %s, which controls it: change that object instead", what, problem.PublicKind(owner.Kind), problem.PublicName(owner.Name))
		p.Retry = problem.RetrySlower
		return p
	}
	if there.Deleting() {
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: what + " is being deleted", Waiting: true}
	}
	if others := otherParents(there, manager); len(others) >= MaxParents {
		p := problem.Newf(v1.ReasonChildConflict, "%s is already patched by %d parents, which is the limit: remove a patch of this object", what, len(others))
		p.Retry = problem.RetrySlower
		return p
	}
	return nil
}

// otherParents returns the field managers of other parents that patch an object.
func otherParents(there *object.Object, manager string) []string {
	var others []string
	for other := range there.AppliedByOthers(manager, "") {
		if v1.IsPatchManager(other) {
			others = append(others, other)
		}
	}
	return others
}

// Current reports whether the field manager owns all fields in content and no other, and the object has these values. custom is whether its kind
// is custom: the API server reformats quantities of built-in kinds only.
func Current(there *object.Object, content map[string]any, manager string, custom bool) bool {
	held, desired := there.Applied(manager, ""), withoutIdentity(content)
	holds := held.HoldsQuantities
	if custom {
		holds = held.Holds
	}
	return held.Uncovered(desired) == "" && holds(desired, there.Content()) && !held.Exceeds(desired)
}

// Owns reports whether the field manager owns any fields of an object.
func Owns(there *object.Object, manager string) bool { return len(there.Applied(manager, "")) > 0 }

// Body returns the body of the apply to the object with that UID.
func Body(content map[string]any, uid types.UID) []byte {
	out := make(map[string]any, len(content))
	for name, value := range content {
		out[name] = value
	}
	metadata := map[string]any{"uid": string(uid)}
	of, _ := content["metadata"].(map[string]any)
	for name, value := range of {
		metadata[name] = value
	}
	out["metadata"] = metadata
	return object.Append(nil, out)
}

// Target is an object that a parent patches. It is noted on the parent before the first patch.
type Target struct {
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
}

// Release returns the body of the apply that removes all fields of a field manager from an object that nobody else owns.
func (t Target) Release() []byte {
	metadata := map[string]any{"name": t.Name}
	if t.Namespace != "" {
		metadata["namespace"] = t.Namespace
	}
	return Body(map[string]any{"apiVersion": t.APIVersion, "kind": t.Kind, "metadata": metadata}, t.UID)
}

// Note returns the text that records these targets of a parent. It has the parent's UID, because the annotation may be copied to another object.
func Note(parent types.UID, targets []Target) string {
	lines := []string{string(parent)}
	for _, t := range targets {
		lines = append(lines, strings.Join([]string{t.APIVersion, t.Kind, t.Namespace, t.Name, string(t.UID)}, " "))
	}
	slices.Sort(lines[1:])
	return strings.Join(slices.Compact(lines), "\n")
}

// Noted returns the targets in a note of the parent with that UID, sorted. Lines that Note did not write are ignored.
func Noted(parent types.UID, note string) []Target {
	first, rest, _ := strings.Cut(note, "\n")
	if first != string(parent) {
		return nil
	}
	var out []Target
	for line := range strings.SplitSeq(rest, "\n") {
		if f := strings.Split(line, " "); len(f) == 5 && f[0] != "" && f[1] != "" && f[3] != "" && f[4] != "" {
			out = append(out, Target{f[0], f[1], f[2], f[3], types.UID(f[4])})
		}
	}
	slices.SortFunc(out, func(a, b Target) int {
		return cmp.Or(strings.Compare(a.APIVersion, b.APIVersion), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
	})
	return out
}
