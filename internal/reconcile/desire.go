package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

// deepest is how many templater parents a child may descend from. A chain of
// controllers that feed each other ends there instead of running forever.
const deepest = 8

// desire is what the templates want for one parent.
type desire struct {
	maker    *maker
	wanted   []*wanted
	problems problem.List
	failed   []string // entries of spec.children of which nobody knows all that they want
	largest  int      // the bytes of the largest document, as JSON
	// unknown are kinds that the controller has never created, or in another version.
	unknown []schema.GroupVersionKind
	// missing are kinds that the server does not have.
	missing []schema.GroupKind
}

// desireFor renders all templates and turns what they yield into children. Of several documents
// for one object none is wanted: nobody knows which is meant.
func desireFor(c *controller, parent *object.Object, in *render.Input) desire {
	d := desire{maker: &maker{controller: c.name, apiVersion: c.spec.Watch.APIVersion, kind: c.gvk.Kind, parent: parent, depth: depthOf(parent) + 1, seals: c.seals, clock: c.clock}}
	first := map[identity]*wanted{}
	for i := range c.spec.Children {
		child := &c.spec.Children[i]
		if len(d.failed) > 0 && in.Budget.UsedUp() { // which was told
			d.failed = append(d.failed, child.Name)
			continue
		}
		objects, err := c.program.Child(child.Name, in)
		if err != nil {
			d.problems = append(d.problems, problem.FromTemplate(err))
			d.failed = append(d.failed, child.Name)
			continue
		}
		for _, o := range objects {
			w, issue := c.want(child, d.maker, o)
			if issue != nil {
				d.problems = append(d.problems, issue)
				d.failed = append(d.failed, child.Name)
				if issue.Reason == v1.ReasonChildKindNotFound {
					d.missing = append(d.missing, gvkOf(o.Content).GroupKind())
				}
				continue
			}
			if other := first[w.id()]; other != nil {
				d.problems = append(d.problems, invalid(child, o, "%s is already yielded by children[%s]:%d, and neither is applied: give each object its own name", w.id(), other.child.Name, other.line))
				other.disputed = true
				continue
			}
			d.largest = max(d.largest, w.bytes)
			first[w.id()] = w
			d.wanted = append(d.wanted, w)
		}
	}
	d.wanted = slices.DeleteFunc(d.wanted, func(w *wanted) bool { return w.disputed })
	for _, w := range d.wanted {
		d.note(c, w)
	}
	return d
}

// note remembers a kind that is new to the controller, or that the server has again
// since the controller was made.
func (d *desire) note(c *controller, w *wanted) {
	gvk := gvkOf(w.content)
	if s := c.sources[gvk.GroupKind()]; s.there() && (s.kind.Resource.Version == gvk.Version || c.settled[gvk.GroupKind()]) {
		return
	}
	for _, known := range d.unknown {
		if known.GroupKind() == gvk.GroupKind() {
			return
		}
	}
	d.unknown = append(d.unknown, gvk)
}

func invalid(child *v1.Child, o render.Object, format string, args ...any) *problem.Problem {
	return problem.Newf(v1.ReasonInvalidChild, "children[%s]:%d: %s", child.Name, o.Line, fmt.Sprintf(format, args...))
}

// want turns one rendered document into a child.
func (c *controller) want(child *v1.Child, maker *maker, o render.Object) (*wanted, *problem.Problem) {
	if fault := cmp.Or(shapeFault(o.Content), c.keyFault(o.Content)); fault != "" {
		return nil, invalid(child, o, "%s", fault)
	}
	gvk := gvkOf(o.Content)
	kind, err := c.resolve(gvk)
	if err != nil {
		return nil, kindProblem(child, o, err)
	}
	if fault := c.place(o.Content, kind, maker.parent); fault != "" {
		return nil, invalid(child, o, "%s", fault)
	}
	labels, _ := below(o.Content, "metadata")["labels"].(map[string]any)
	w := &wanted{child: child, kind: kind, name: nameOf(o.Content), content: o.Content, line: int32(o.Line), marks: marks{maker: maker, child: child, kind: kind.GroupKind(), managedBy: labels[v1.LabelManagedBy] == nil}}
	if c.watches(w, gvk) {
		return nil, invalid(child, o, "this %s would be watched by this very TemplateController, which would make children for it without end: narrow spec.watch by a labelSelector that the child does not match", gvk.Kind)
	}
	if maker.depth > deepest {
		return nil, invalid(child, o, "this child descends from %d parents of templater: TemplateControllers make children for each other without end; change what one of them watches, or makes", deepest)
	}
	text := texts.Get().(*[]byte) //nolint:forcetypeassert // texts has no others
	*text = object.Append((*text)[:0], o.Content)
	w.hash, w.bytes = hash(*text), len(*text)
	if cap(*text) <= largestText {
		texts.Put(text)
	}
	return w, nil
}

// largestText is how large a text may have grown to be used again, in bytes.
const largestText = 64 << 10

// texts are those of documents, needed for their hashes alone.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// gvkOf returns the kind of a document whose shape is in order.
func gvkOf(content map[string]any) schema.GroupVersionKind {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func nameOf(content map[string]any) types.NamespacedName {
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// resolve returns the kind; that of a source is current.
func (c *controller) resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	if s := c.sources[gvk.GroupKind()]; s.kind.Resource.Version == gvk.Version {
		return s.kind, nil
	}
	return c.kinds.Resolve(gvk)
}

func kindProblem(child *v1.Child, o render.Object, err error) *problem.Problem {
	var missing *kind.NotFoundError
	if errors.As(err, &missing) {
		p := invalid(child, o, "%s: install it, or correct apiVersion and kind", missing)
		p.Reason, p.Retry = v1.ReasonChildKindNotFound, problem.RetrySlow
		return p
	}
	p := invalid(child, o, "cannot ask the API server for its kinds: %s", problem.PublicReason(err))
	p.Reason, p.Retry = v1.ReasonChildRequestFailed, problem.RetryBackoff
	return p
}

// place fills in the namespace. It returns what is wrong, or "".
func (c *controller) place(content map[string]any, kind kind.Kind, parent *object.Object) string {
	switch ns := nameOf(content).Namespace; {
	case !kind.Namespaced && c.kind.Namespaced:
		return fmt.Sprintf("a %s is cluster-scoped and cannot belong to the namespaced %s: owner references do not cross that line; watch a cluster-scoped kind instead", kind.Kind, c.kind.Kind)
	case !kind.Namespaced && ns != "":
		return fmt.Sprintf("a %s is cluster-scoped: remove metadata.namespace", kind.Kind)
	case !kind.Namespaced:
	case c.kind.Namespaced && ns == "":
		below(content, "metadata")["namespace"] = parent.Namespace()
	case c.kind.Namespaced && ns != parent.Namespace():
		return "the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace"
	case ns == "":
		return fmt.Sprintf("a %s is namespaced and its parent is not: set metadata.namespace", kind.Kind)
	}
	return ""
}

// ownPrefix is that of templater's own labels and annotations.
const ownPrefix = "templater.dev/"

// serverOwned are fields of metadata that only the server, or templater, sets.
var serverOwned = []struct{ field, advice string }{
	{"generateName", "templater must know the name of each child beforehand: set metadata.name"},
	{"ownerReferences", "templater sets the owner reference itself: remove it; to have none, set deletionPolicy: Orphan"},
	{"uid", "the API server sets it: remove it"},
	{"resourceVersion", "the API server sets it: remove it"},
	{"generation", "the API server sets it: remove it"},
	{"managedFields", "the API server sets it: remove it"},
	{"deletionTimestamp", "the API server sets it: remove it"},
	{"deletionGracePeriodSeconds", "the API server sets it: remove it"},
	{"selfLink", "the API server sets it: remove it"},
}

// shapeFault returns why a document is no object that templater can make, or "".
func shapeFault(content map[string]any) string {
	for _, key := range []string{"apiVersion", "kind"} {
		if s, _ := content[key].(string); s == "" {
			return "the document has no " + key + ": every child needs apiVersion, kind and metadata.name"
		}
	}
	if gv, err := schema.ParseGroupVersion(content["apiVersion"].(string)); err != nil || gv.Version == "" || gv.String() != content["apiVersion"] { //nolint:forcetypeassert // seen above
		return "apiVersion is neither VERSION nor GROUP/VERSION"
	}
	if _, ok := content["status"]; ok {
		return "status is not for a template to set: remove it"
	}
	metadata, _ := content["metadata"].(map[string]any)
	for _, owned := range serverOwned {
		if metadata[owned.field] != nil {
			return "metadata." + owned.field + " may not be set: " + owned.advice
		}
		delete(metadata, owned.field)
	}
	delete(metadata, "creationTimestamp") // manifests made by Go programs hold a null
	if s, _ := metadata["name"].(string); s == "" {
		return "the document has no metadata.name, or one that is no text: every child needs apiVersion, kind and metadata.name"
	}
	return metadataFault(metadata)
}

func metadataFault(metadata map[string]any) string {
	if name, _ := metadata["name"].(string); len(content.IsPathSegmentName(name)) > 0 {
		return "metadata.name is no valid name: it may not hold / or %, nor be . or .."
	}
	if value, ok := metadata["namespace"]; ok {
		ns, ok := value.(string)
		if !ok {
			return "metadata.namespace is no text: quote it"
		}
		if ns != "" && len(content.IsDNS1123Label(ns)) > 0 {
			return "metadata.namespace is no valid name: it may hold lower-case letters, digits and -"
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		value := metadata[key]
		if value == nil { // left out, or an explicit null, which the server drops
			continue
		}
		m, ok := value.(map[string]any)
		if !ok {
			return "metadata." + key + " is no mapping"
		}
		for _, name := range sortedKeys(m) {
			if _, ok := m[name].(string); !ok {
				return "metadata." + key + " holds a value that is no text: quote it"
			}
			if strings.HasPrefix(name, ownPrefix) {
				return "metadata." + key + " holds a key of " + ownPrefix + ", which templater sets itself: remove it"
			}
		}
	}
	return ""
}

// watches reports whether the child would be a parent of the same controller.
// Field selectors are not looked at: deepest ends what they let through.
func (c *controller) watches(w *wanted, gvk schema.GroupVersionKind) bool {
	if gvk.GroupKind() != c.gvk.GroupKind() || c.spec.Watch.FieldSelector != "" {
		return false
	}
	set := labels.Set{}
	for key, value := range below(below(w.content, "metadata"), "labels") {
		set[key], _ = value.(string)
	}
	for _, m := range w.marks.labels() {
		if m.value != "" {
			set[m.key] = m.value
		}
	}
	return c.selects(w.name.Namespace, set)
}

func depthOf(o *object.Object) int {
	depth, err := strconv.Atoi(o.Annotation(v1.AnnotationDepth))
	if err != nil {
		return 0
	}
	return max(0, depth)
}
