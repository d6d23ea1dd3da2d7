package child

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
)

// deepest is how many ancestors of a child may be parents. It stops TemplateControllers that create parents for each other in a loop.
const deepest = 8

// Cluster provides a Factory with cached information about the cluster.
type Cluster interface {
	// Resolve returns the kind for an API version. The error is a *kind.NotFoundError if the kind is not served, or else the error of the failed
	// request.
	Resolve(gvk schema.GroupVersionKind) (kind.Kind, error)
	// Known reports whether the controller knows the kind of a child, in this version or in an equivalent one.
	Known(gvk schema.GroupVersionKind) bool
	// Selects reports whether an object with this namespace and labels would be a parent, if it were of the parents' kind. It ignores the
	// fieldSelector.
	Selects(namespace string, set labels.Labels) bool
}

// Factory builds the desired children for the parents of one TemplateController. It is safe for concurrent use.
type Factory struct {
	*Ownership
	Spec       *v1.TemplateControllerSpec
	Program    *render.Program
	ParentKind kind.Kind
	Cluster    Cluster
	Clock      clock.PassiveClock
}

// Desired is what the templates render for one parent.
type Desired struct {
	Maker   *Maker
	Wanted  []*Wanted
	Faults  []Fault
	Failed  []string // child templates whose objects are not all known
	Largest int      // size of the largest document, in bytes of JSON
	// Unknown are kinds that the controller has never created, or only in another version.
	Unknown []schema.GroupVersionKind
	// Missing are kinds that the API server does not serve.
	Missing []schema.GroupKind
}

// Render renders child templates and converts the rendered objects to children. If several documents define the same object, none of them is
// desired, because the intent is ambiguous.
func (f *Factory) Render(parent *object.Object, entries Entries, in *render.Input) Desired {
	d := f.desired(parent)
	first := map[ID]*Wanted{}
	for i := range entries {
		child := &entries[i]
		if len(d.Failed) > 0 && in.Budget.UsedUp() { // which is reported already
			d.Failed = append(d.Failed, child.Name)
			continue
		}
		objects, err := f.Program.Child(child.Name, in)
		if err != nil {
			d.Faults = append(d.Faults, Fault{Problem: problem.FromTemplate(err), Entry: child.Name, Always: ofAllTemplates(err)})
			d.Failed = append(d.Failed, child.Name)
			continue
		}
		for _, o := range objects {
			w, issue := f.want(child, d.Maker, o)
			if issue != nil {
				d.Faults = append(d.Faults, Fault{Problem: issue, Entry: child.Name})
				d.Failed = append(d.Failed, child.Name)
				if issue.Reason == v1.ReasonChildKindNotFound {
					d.Missing = append(d.Missing, GVKOf(o.Content).GroupKind())
				}
				continue
			}
			if other := first[w.ID()]; other != nil {
				d.Faults = append(d.Faults, Fault{Entry: child.Name, Other: other.Entry.Name, Always: true, Problem: invalid(child, o, "%s is also rendered by children[%s]:%d, so neither is applied: give each object its own name", w.ID(), other.Entry.Name, other.line)})
				other.disputed = true
				continue
			}
			d.Largest = max(d.Largest, w.bytes)
			first[w.ID()] = w
			d.Wanted = append(d.Wanted, w)
		}
	}
	d.Wanted = slices.DeleteFunc(d.Wanted, func(w *Wanted) bool { return w.disputed })
	for _, w := range d.Wanted {
		d.note(f.Cluster, w)
	}
	return d
}

// desired returns the Desired of a parent before rendering.
func (f *Factory) desired(parent *object.Object) Desired {
	return Desired{Maker: f.Maker(parent)}
}

// Maker returns the Maker for the children of a parent.
func (f *Factory) Maker(parent *object.Object) *Maker {
	return &Maker{Ownership: f.Ownership, Parent: parent, Depth: depthOf(parent) + 1, Finalize: f.Spec.Finalize, Clock: f.Clock}
}

// Unrendered returns the Desired of a parent whose templates cannot be rendered: the objects of all child templates are unknown.
func (f *Factory) Unrendered(parent *object.Object, entries Entries) Desired {
	d := f.desired(parent)
	for i := range entries {
		d.Failed = append(d.Failed, entries[i].Name)
	}
	return d
}

// note records a kind that is new to the controller, or that is served again since the controller was created.
func (d *Desired) note(c Cluster, w *Wanted) {
	gvk := GVKOf(w.Content)
	if c.Known(gvk) {
		return
	}
	for _, known := range d.Unknown {
		if known.GroupKind() == gvk.GroupKind() {
			return
		}
	}
	d.Unknown = append(d.Unknown, gvk)
}

func invalid(child *v1.Child, o render.Object, format string, args ...any) *problem.Problem {
	return problem.Newf(v1.ReasonInvalidChild, "children[%s]:%d: %s", child.Name, o.Line, fmt.Sprintf(format, args...))
}

// want converts one rendered document to a child.
func (f *Factory) want(child *v1.Child, maker *Maker, o render.Object) (*Wanted, *problem.Problem) {
	if fault := cmp.Or(shapeFault(o.Content), f.KeyFault(o.Content)); fault != "" {
		return nil, invalid(child, o, "%s", fault)
	}
	gvk := GVKOf(o.Content)
	kind, err := f.Cluster.Resolve(gvk)
	if err != nil {
		return nil, kindProblem(child, o, err)
	}
	if fault := f.place(o.Content, kind, child.Scope, maker.Parent); fault != "" {
		return nil, invalid(child, o, "%s", fault)
	}
	labels, _ := below(o.Content, "metadata")["labels"].(map[string]any)
	w := &Wanted{Entry: child, Kind: kind, Name: nameOf(o.Content), Content: o.Content, Initial: o.Content, line: int32(o.Line), Marks: maker.Marks(child, kind.GroupKind(), nameOf(o.Content).Namespace, labels[v1.LabelManagedBy] == nil)}
	if f.watches(w, gvk) {
		return nil, invalid(child, o, "this %s matches spec.watch of its own TemplateController, so it would get children of its own in an endless loop: narrow spec.watch with a labelSelector that the child does not match", gvk.Kind)
	}
	if maker.Depth > deepest {
		return nil, invalid(child, o, "nested too deeply: this child has %d ancestors that are parents, so TemplateControllers create parents for each other in a loop; change what one of them watches or creates", deepest)
	}
	if fault := w.omitCreateOnly(); fault != "" {
		return nil, invalid(child, o, "%s", fault)
	}
	text := texts.Get().(*[]byte) //nolint:forcetypeassert // texts holds nothing else
	*text = object.Append((*text)[:0], w.Content)
	w.Hash, w.bytes = Hash(*text), len(*text)
	if cap(*text) <= maxPooledText {
		texts.Put(text)
	}
	return w, nil
}

// maxPooledText is the maximum capacity of a buffer that is reused, in bytes.
const maxPooledText = 64 << 10

// texts are buffers for the JSON of documents, which is only needed to compute hashes.
var texts = sync.Pool{New: func() any { return new([]byte) }}

func kindProblem(child *v1.Child, o render.Object, err error) *problem.Problem {
	var missing *kind.NotFoundError
	if errors.As(err, &missing) {
		p := invalid(child, o, "%s: install it, or correct apiVersion and kind", missing)
		p.Reason, p.Retry = v1.ReasonChildKindNotFound, problem.RetrySlow
		return p
	}
	p := invalid(child, o, "API discovery failed: %s", problem.PublicReason(err))
	p.Reason, p.Retry = v1.ReasonChildRequestFailed, problem.RetryBackoff
	return p
}

// watches reports whether the child would be a parent of the same controller. It returns false if a field selector or filter is set: deepest
// ends the loops that these allow.
func (f *Factory) watches(w *Wanted, gvk schema.GroupVersionKind) bool {
	if gvk.GroupKind() != f.Parents || f.Spec.Watch.FieldSelector != "" || f.Spec.Watch.Filter != "" {
		return false
	}
	set := labels.Set{}
	for key, value := range below(below(w.Content, "metadata"), "labels") {
		set[key], _ = value.(string)
	}
	for _, m := range w.Marks.labels() {
		if m.value != "" {
			set[m.key] = m.value
		}
	}
	return f.Cluster.Selects(w.Name.Namespace, set)
}

func depthOf(o *object.Object) int {
	depth, err := strconv.Atoi(o.Annotation(v1.AnnotationDepth))
	if err != nil {
		return 0
	}
	return max(0, depth)
}

// place sets the default namespace. It returns an error message, or "".
func (f *Factory) place(content map[string]any, kind kind.Kind, scope v1.ChildScope, parent *object.Object) string {
	namespace := nameOf(content).Namespace
	placing := spec.Placing{Child: kind.Kind, Parent: f.ParentKind.Kind, ChildNamespaced: kind.Namespaced, ParentNamespaced: f.ParentKind.Namespaced, Scope: scope, Confined: v1.Namespaced(f.Controller)}
	if fault := placing.Fault(namespace, parent.Namespace()); fault.What != "" {
		return fault.String()
	}
	if namespace == "" && kind.Namespaced {
		below(content, "metadata")["namespace"] = parent.Namespace()
	}
	return ""
}

// crossScope reports whether an object in that namespace has no owner reference to its parent. Objects of a child template with scope Cluster
// never have one. Across namespaces, the garbage collector would consider the owner deleted, and delete the object.
func crossScope(entry *v1.Child, namespace string, parent *object.Object) bool {
	return entry.Scope == v1.ScopeCluster || parent.Namespace() != "" && namespace != parent.Namespace()
}

// parentAddress identifies the parent of cluster-scoped children and of children in other namespaces.
func (m *Maker) parentAddress() string {
	if m.address == "" {
		m.address = object.ParentAddress(m.Parent.Namespace(), m.Parent.Name())
	}
	return m.address
}
