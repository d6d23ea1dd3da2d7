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

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// State is a cluster, as far as one parent is concerned. Contents are plain JSON data, which must not be changed. The zero State has no
// children and no related objects.
type State struct {
	Parent map[string]any
	// Objects may be children: those that carry templater's labels for the parent are, and those that have kind and name of one. What
	// else is in there is as good as not there.
	Objects []map[string]any
	// Related are other objects. Entries of spec.related see Objects, too.
	Related []map[string]any
	// Read returns more objects of an entry of spec.related: those that are watched and chosen. It is for callers that have many. Objects and
	// Related take precedence over what it returns; nil is for no more.
	Read func(entry string, chosen related.Selection) []*object.Object
	// Logs are those of Pods, by NAMESPACE/NAME and container.
	Logs map[string]map[string]string
	Now  time.Time

	version int // of the API server
	made    int // objects so far
	// assumed are children that count as ready whatever the readyWhen of their entry says, for as long as they stay as they were then.
	assumed map[child.ID]map[string]any
	// guessed is whether a child has counted as ready though its readyWhen was not true. unsure are the objects that were deleted since then.
	guessed bool
	unsure  map[child.ID]bool
	gone    bool           // whether the parent is: see Result
	attempt *queue.Attempt // of the cleanup of the parent; nil = none
}

// copy returns a State that can be changed without a change of this one.
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

// placed is a parent with what the server would have filled in.
func (s *Simulator) placed(content map[string]any) map[string]any {
	content = fieldsWithDefaults(content, s.schema)
	metadata := maps.Clone(Map(content["metadata"]))
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

// Placed returns the State as a reconciliation sees it: the parent has the defaults of the server, and objects without a namespace are in
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

// Namespace returns the namespace of an object that may be meant to be in that of the parent; "" where its kind has none.
func (s *Simulator) Namespace(content, parent map[string]any) string {
	if namespace := Text(Map(content["metadata"])["namespace"]); namespace != "" || !s.kinds.find(child.GVKOf(content)).Namespaced {
		return namespace
	}
	return Text(Map(s.placed(parent)["metadata"])["namespace"])
}

// CountGeneration gives an object that was changed another generation, as a server does where more has changed than metadata and status.
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
