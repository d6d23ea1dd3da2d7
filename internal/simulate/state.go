package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/related/selection"
)

// State is a cluster, as far as one parent is concerned. Contents are plain JSON data, which nobody changes. The zero State has no
// children and no related objects.
type State struct {
	Parent map[string]any
	// Objects may be children: those that carry templater's labels for the parent are, and those that have kind and name of one. What
	// else is in there is as good as not there.
	Objects []map[string]any
	// Related are other objects. Entries of spec.related see Objects, too.
	Related []map[string]any
	// Read returns more objects of an entry of spec.related: those that are watched and chosen. It is for those who have many. Objects and
	// Related count before what it returns; nil is for no more.
	Read func(entry string, chosen selection.Selection) []*object.Object
	// Logs are those of Pods, by NAMESPACE/NAME and container.
	Logs map[string]map[string]string
	Now  time.Time

	// applied is what was applied last, as far as that was in the simulation; parentID has the status of the parent.
	applied map[child.ID]map[string]any
	made    int // objects so far
	// assumed are children that count as ready whatever the readyWhen of their entry says, for as long as they stay as they were then.
	assumed map[child.ID]map[string]any
	// guessed is whether a child has counted as ready though its readyWhen was not true. unsure are the objects that were deleted since then.
	guessed  bool
	unsure   map[child.ID]bool
	finished bool // whether what spec.finalize.children make has become ready
	gone     bool // whether the parent is: see Result
	// attempted is since when the cleanup of the parent has been attempted, zero while it has not.
	attempted time.Time
}

// parentID stands for the status of the parent.
var parentID = child.ID{}

// copy returns a State that can be changed without a change of this one.
func (s State) copy() State {
	s.Objects, s.applied, s.assumed, s.unsure = slices.Clone(s.Objects), maps.Clone(s.applied), maps.Clone(s.assumed), maps.Clone(s.unsure)
	if s.applied == nil {
		s.applied = map[child.ID]map[string]any{}
	}
	if s.assumed == nil {
		s.assumed = map[child.ID]map[string]any{}
	}
	if s.unsure == nil {
		s.unsure = map[child.ID]bool{}
	}
	return s
}

// placed is a parent with what the server would have filled in.
func (s *Simulator) placed(content map[string]any) map[string]any {
	content = fieldsWithDefaults(content, s.schema)
	metadata := maps.Clone(mapping(content["metadata"]))
	content["metadata"] = metadata
	if metadata["namespace"] == nil && s.parents.Namespaced {
		metadata["namespace"] = cmp.Or(s.InNamespace, metav1.NamespaceDefault)
	}
	if metadata["uid"] == nil {
		metadata["uid"] = uid("parent", 0)
	}
	if metadata["generation"] == nil {
		metadata["generation"] = int64(1)
	}
	return content
}

// Placed returns the State as a pass sees it: the parent has what the server would have filled in, and objects that give no namespace are in
// that of the parent.
func (s *Simulator) Placed(in State) State {
	in.Parent = s.placed(in.Parent)
	if metadata := mapping(in.Parent["metadata"]); metadata["creationTimestamp"] == nil { // a map of its own: see placed
		metadata["creationTimestamp"] = in.Now.UTC().Format(time.RFC3339)
	}
	in.Objects, in.Related = s.inNamespace(in.Objects, in.Parent), s.inNamespace(in.Related, in.Parent)
	return in
}

func (s *Simulator) inNamespace(objects []map[string]any, parent map[string]any) []map[string]any {
	out := slices.Clone(objects)
	for i, content := range out {
		namespace := s.Namespace(content, parent)
		if namespace == text(mapping(content["metadata"])["namespace"]) {
			continue
		}
		out[i] = Patch(content, map[string]any{"metadata": map[string]any{"namespace": namespace}})
	}
	return out
}

// uid makes a UID that is always the same one.
func uid(of string, n int) string {
	sum := sha256.Sum256([]byte(of + "/" + strconv.Itoa(n)))
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// check returns an error if one of the Objects cannot be read. What is made of those that can be, and of what templates yield, can be, too.
func (s State) check() error {
	for _, content := range s.Objects {
		if _, err := object.From(content); err != nil {
			return fmt.Errorf("%s: %w", nameOf(content), err)
		}
	}
	return nil
}

// read is for contents that were checked.
func read(content map[string]any) *object.Object {
	o, err := object.From(content)
	if err != nil {
		panic(err) // see State.check
	}
	return o
}

// find returns where an object is among Objects, or -1.
func (s State) find(id child.ID) int {
	return slices.IndexFunc(s.Objects, func(o map[string]any) bool { return child.IDOf(o) == id })
}

// create adds a child as the server would.
func (s *State) create(w *child.Wanted) {
	s.made++
	content := body(w, uid(w.ID().String(), s.made))
	metadata := mapping(content["metadata"])
	metadata["creationTimestamp"], metadata["generation"] = s.Now.UTC().Format(time.RFC3339), int64(1)
	s.Objects = append(s.Objects, content)
	s.applied[w.ID()] = w.Content
}

// update changes a child as an apply does: fields go that were applied and are so no longer.
func (s *State) update(w *child.Wanted) {
	at := s.find(w.ID())
	old := s.Objects[at]
	after := merged(without(old, s.applied[w.ID()]), body(w, text(mapping(old["metadata"])["uid"])))
	CountGeneration(old, after)
	s.Objects[at] = after
	s.applied[w.ID()] = w.Content
}

// mark changes the metadata of a child as templater sees to it.
func (s *State) mark(id child.ID, change child.Change) {
	metadata := map[string]any{"labels": change.Labels, "annotations": change.Annotations}
	if change.Owners != nil {
		metadata["ownerReferences"] = change.Owners
	}
	assumed := s.isAssumed(id)
	at := s.find(id)
	s.Objects[at] = Patch(s.Objects[at], map[string]any{"metadata": metadata})
	if assumed { // for its author, it stays as it was
		s.assumed[id] = s.Objects[at]
	}
}

func (s *State) remove(id child.ID) {
	if at := s.find(id); at >= 0 {
		s.Objects = slices.Delete(s.Objects, at, at+1)
	}
	delete(s.applied, id)
	if s.guessed {
		s.unsure[id] = true
	}
}

// setStatus writes the status of the parent. What others have written there stays.
func (s *State) setStatus(status map[string]any) (changed bool) {
	parent := maps.Clone(s.Parent)
	before := mapping(parent["status"])
	last := mapping(s.applied[parentID]["status"])
	after := merged(without(before, last), status)
	if list := joinConditions(before["conditions"], last["conditions"], status["conditions"]); len(list) > 0 {
		after["conditions"] = list
	}
	if len(after) > 0 {
		parent["status"] = after
	} else {
		delete(parent, "status")
	}
	s.Parent = parent
	s.applied[parentID] = map[string]any{"status": status}
	return !same(before, after)
}

// joinConditions returns the conditions that there are with own ones in the place of those of the same type. Those go that were ours and
// are so no longer; new ones come last.
func joinConditions(there, last, own any) []any {
	find := func(list any, condition any) any {
		conditions, _ := list.([]any)
		i := slices.IndexFunc(conditions, func(c any) bool { return mapping(c)["type"] == mapping(condition)["type"] })
		if i < 0 {
			return nil
		}
		return conditions[i]
	}
	var out []any
	list, _ := there.([]any)
	for _, c := range list {
		if ours := find(own, c); ours != nil {
			out = append(out, ours)
		} else if find(last, c) == nil {
			out = append(out, c)
		}
	}
	list, _ = own.([]any)
	for _, c := range list {
		if find(there, c) == nil {
			out = append(out, c)
		}
	}
	return out
}

// body is what is applied for a child, as JSON data.
func body(w *child.Wanted, uid string) map[string]any {
	o, err := object.Decode(w.Body("uid", uid, nil))
	if err != nil {
		panic(err) // it is JSON of an object
	}
	return o.Content()
}

// Namespace returns the namespace of an object that may be meant to be in that of the parent; "" where its kind has none.
func (s *Simulator) Namespace(content, parent map[string]any) string {
	if namespace := text(mapping(content["metadata"])["namespace"]); namespace != "" || !s.kinds.find(child.GVKOf(content)).Namespaced {
		return namespace
	}
	return text(mapping(s.placed(parent)["metadata"])["namespace"])
}

// CountGeneration gives an object that was changed another generation, as a server does where more has changed than metadata and status.
func CountGeneration(before, after map[string]any) {
	rest := func(content map[string]any) map[string]any {
		content = maps.Clone(content)
		delete(content, "metadata")
		delete(content, "status")
		return content
	}
	if same(rest(before), rest(after)) {
		return
	}
	metadata := maps.Clone(mapping(after["metadata"]))
	generation, ok := mapping(before["metadata"])["generation"].(int64)
	if !ok {
		generation = 1
	}
	metadata["generation"] = generation + 1
	after["metadata"] = metadata
}
