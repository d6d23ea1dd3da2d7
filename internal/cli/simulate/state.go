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

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// State is the state of a cluster for one parent. Contents are plain JSON data, which must not be modified. The zero State has no
// children and no related objects.
type State struct {
	Parent map[string]any
	// Objects are potential children: those with templater's labels for the parent, and those with the kind and name of a child.
	// Other objects are ignored.
	Objects []map[string]any
	// Related are other objects. Entries of spec.related also select Objects.
	Related []map[string]any
	// Read returns more objects of an entry of spec.related: those that are watched and selected. It is for callers with many objects. Objects and
	// Related take precedence over its result; nil = none.
	Read func(entry string, chosen related.Selection) []*object.Object
	// Logs are the logs of Pods, by NAMESPACE/NAME and container.
	Logs map[string]map[string]string
	Now  time.Time

	version int // of the API server
	made    int // objects so far
	// assumed are children that count as ready whatever their readyWhen says, until they change.
	assumed map[child.ID]map[string]any
	// guessed is whether a child counted as ready although its readyWhen was not true. unsure are the objects that were deleted since then.
	guessed bool
	unsure  map[child.ID]bool
	checked map[string]any // the last parent that was validated
	gone    bool           // whether the parent is deleted: see Result
	attempt *queue.Attempt // of the cleanup of the parent; nil = none
}

// copy returns a copy that can be modified independently.
func (s State) copy() State {
	s.Objects, s.assumed, s.unsure = slices.Clone(s.Objects), maps.Clone(s.assumed), maps.Clone(s.unsure)
	if s.assumed == nil {
		s.assumed = map[child.ID]map[string]any{}
	}
	if s.unsure == nil {
		s.unsure = map[child.ID]bool{}
	}
	return s
}

// placed returns a parent with the fields that the server sets.
func (s *Simulator) placed(content map[string]any) map[string]any {
	content = fieldsWithDefaults(content, s.schema)
	metadata := maps.Clone(Map(content["metadata"]))
	content["metadata"] = metadata
	if metadata["namespace"] == nil && s.parents.Namespaced {
		metadata["namespace"] = cmp.Or(s.InNamespace, s.namespace(), metav1.NamespaceDefault)
	}
	if metadata["uid"] == nil {
		metadata["uid"] = uid("parent", 0)
	}
	if metadata["generation"] == nil {
		metadata["generation"] = int64(1)
	}
	return content
}

// Placed returns the State for a reconciliation: the parent has the defaults of the server, and objects without a namespace are in
// that of the parent.
func (s *Simulator) Placed(in State) State {
	in.Parent = s.placed(in.Parent)
	if metadata := Map(in.Parent["metadata"]); metadata["creationTimestamp"] == nil { // a map of its own: see placed
		metadata["creationTimestamp"] = in.Now.UTC().Format(time.RFC3339)
	}
	in.Objects, in.Related = s.inNamespace(in.Objects, in.Parent), s.inNamespace(in.Related, in.Parent)
	return in
}

func (s *Simulator) inNamespace(objects []map[string]any, parent map[string]any) []map[string]any {
	out := slices.Clone(objects)
	for i, content := range out {
		namespace := s.Namespace(content, parent)
		if namespace == Text(Map(content["metadata"])["namespace"]) {
			continue
		}
		out[i] = memserver.Patch(content, map[string]any{"metadata": map[string]any{"namespace": namespace}})
	}
	return out
}

// uid returns a deterministic UID.
func uid(of string, n int) string {
	sum := sha256.Sum256([]byte(of + "/" + strconv.Itoa(n)))
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// check returns an error if one of the Objects is invalid. Objects derived from valid ones, and rendered objects, are valid.
func (s State) check() error {
	for _, content := range s.Objects {
		if _, err := object.From(content); err != nil {
			return fmt.Errorf("%s: %w", nameOf(content), err)
		}
	}
	return nil
}

// read decodes contents that were checked.
func read(content map[string]any) *object.Object {
	o, err := object.From(content)
	if err != nil {
		panic(err) // see State.check
	}
	return o
}

// find returns the index of an object in Objects, or -1.
func (s State) find(id child.ID) int {
	return slices.IndexFunc(s.Objects, func(o map[string]any) bool { return child.IDOf(o) == id })
}

// Namespace returns the namespace of an object, which defaults to that of the parent; "" if its kind is cluster-scoped.
func (s *Simulator) Namespace(content, parent map[string]any) string {
	if namespace := Text(Map(content["metadata"])["namespace"]); namespace != "" || !s.kinds.find(child.GVKOf(content)).Namespaced {
		return namespace
	}
	return Text(Map(s.placed(parent)["metadata"])["namespace"])
}

// CountGeneration increments the generation of a changed object, as a server does if anything but metadata and status changes.
func CountGeneration(before, after map[string]any) {
	rest := func(content map[string]any) map[string]any {
		content = maps.Clone(content)
		delete(content, "metadata")
		delete(content, "status")
		return content
	}
	if Same(rest(before), rest(after)) {
		return
	}
	metadata := maps.Clone(Map(after["metadata"]))
	generation, ok := Map(before["metadata"])["generation"].(int64)
	if !ok {
		generation = 1
	}
	metadata["generation"] = generation + 1
	after["metadata"] = metadata
}
