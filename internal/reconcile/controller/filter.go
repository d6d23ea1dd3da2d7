package controller

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
)

// Filter evaluates spec.watch.filter, which decides which objects of the parents' kind are parents. It evaluates each version of an object once.
// If the evaluation fails, the object keeps its state as a parent or not. It is safe for concurrent use. An evaluation may take long and may
// read the caches of children, so do not evaluate a Filter while holding a lock, such as that of a cache whose objects are being iterated.
type Filter struct {
	program *render.Program // nil = do not evaluate: no object starts or stops being a parent until the filter is corrected
	changed func()          // called when the first object fails, and when the last failing object is fixed

	mu      sync.Mutex
	known   map[types.NamespacedName]admission
	failing map[types.NamespacedName]string
}

// admission is the result of the filter for a version of an object.
type admission struct {
	uid      types.UID
	version  string // empty = evaluate again
	admitted bool
}

// NewFilter returns the filter of a program. program is nil for a rejected spec; its filter is not evaluated. The filter takes over from before,
// which may be nil, which objects were parents.
func NewFilter(program *render.Program, before *Filter, changed func()) *Filter {
	f := &Filter{program: program, changed: changed, known: map[types.NamespacedName]admission{}, failing: map[types.NamespacedName]string{}}
	if before != nil {
		before.mu.Lock()
		defer before.mu.Unlock()
		for name, a := range before.known {
			a.version = ""
			f.known[name] = a
		}
	}
	return f
}

// For returns f if it has this program, or else a new filter that takes over which objects were parents. f may be nil.
func (f *Filter) For(program *render.Program, changed func()) *Filter {
	if f != nil && f.program == program {
		return f
	}
	return NewFilter(program, f, changed)
}

// Matches reports whether an object is a parent. If the filter is not evaluated, or fails for an object that it does not know yet, was reports
// whether the object was a parent, and whether this is certain. If it is not, the result is not cached.
func (f *Filter) Matches(o *object.Object, was func(*object.Object) (parent, certain bool)) bool {
	name := o.Key()
	f.mu.Lock()
	before, known := f.known[name]
	f.mu.Unlock()
	known = known && before.uid == o.UID()
	if known && before.version == o.ResourceVersion() {
		return before.admitted
	}
	var admitted bool
	var err error
	if f.program != nil {
		admitted, err = Evaluate(f.program, o)
	}
	certain := true
	switch {
	case f.program != nil && err == nil:
	case known:
		admitted = before.admitted
	default:
		admitted, certain = was(o)
	}
	a := admission{admitted: admitted}
	if certain {
		a.uid, a.version = types.UID(strings.Clone(string(o.UID()))), strings.Clone(o.ResourceVersion()) // which would reference the object's text
	}
	f.note(name, a, err)
	return admitted
}

// large is locked while a filter is evaluated for a large object.
var large sync.Mutex

// Evaluate evaluates the filter of a program for an object. A decoded object may take as much memory as a reconciliation. This memory is not
// reserved, so large objects are evaluated one at a time.
func Evaluate(program *render.Program, o *object.Object) (admits bool, err error) {
	if o.ContentBytes() > budget.FreeBytes {
		large.Lock()
		defer large.Unlock()
	}
	return program.Matches(o.Content())
}

// note stores an admission. One without a UID matches no object.
func (f *Filter) note(name types.NamespacedName, a admission, err error) {
	f.mu.Lock()
	failed := len(f.failing) > 0
	f.known[name] = a
	delete(f.failing, name)
	if err != nil {
		f.failing[name] = problem.FromTemplate(err).Message
	}
	changed := failed != (len(f.failing) > 0)
	f.mu.Unlock()
	if changed {
		f.changed()
	}
}

// Forget removes a deleted object.
func (f *Filter) Forget(name types.NamespacedName) {
	if f == nil {
		return
	}
	f.mu.Lock()
	failed := len(f.failing) > 0
	delete(f.known, name)
	delete(f.failing, name)
	changed := failed != (len(f.failing) > 0)
	f.mu.Unlock()
	if changed {
		f.changed()
	}
}

// Failing returns the number of objects for which the evaluation fails, the first of them in order of names, and its error message.
func (f *Filter) Failing() (objects int, example types.NamespacedName, why string) {
	if f == nil {
		return 0, example, ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, message := range f.failing {
		if why == "" || name.String() < example.String() {
			example, why = name, message
		}
	}
	return len(f.failing), example, why
}

// admits reports whether an object that matches the selectors is a parent. In TeardownOnly mode, a terminating object with the finalizer is
// always a parent: nothing else would remove the finalizer of a former parent.
func (c *Controller) admits(o *object.Object) bool {
	return c.Filter == nil || c.TeardownOnly && o.Deleting() && o.HasFinalizer(c.Finalizer) || c.Filter.Matches(o, c.wasParent)
}

// wasParent reports whether an object has something that only parents have: the finalizer, children or, if the spec is rejected, so that only
// the status is written, a status that templater wrote. That it has no children is only certain if the caches of children have synced.
func (c *Controller) wasParent(o *object.Object) (parent, certain bool) {
	if o.HasFinalizer(c.Finalizer) || c.Rejected && o.Applied(c.Manager, "status") != nil {
		return true, true
	}
	certain = c.childrenSynced(o.Namespace()) // before the children are read
	if slices.ContainsFunc(c.ChildrenNamed(o.Key()), func(l *child.Live) bool { return !l.OfAnother(o.UID()) }) {
		return true, true
	}
	return false, certain
}
