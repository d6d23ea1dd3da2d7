// Package related finds the related objects that a parent selects, and the parents that select a changed object.
package related

import (
	"iter"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Entry is an active entry of spec.related: the caches of its objects, and the index of the parents that select them.
// It is immutable.
type Entry struct {
	*spec.Related
	Kind   kind.Kind
	Caches map[string]*watch.Cache // by namespace; "" = all namespaces; empty while the kind is not served
	// Err is the reason why there are no caches.
	Err        error
	Namespaces *watch.Cache // nil if there is no namespaceSelector
	// More returns objects of a selection that are not in the caches. It may be nil. If an object is in both, the
	// cached one is used.
	More  func(Selection) []*object.Object
	Index *Index
}

// ReadsLogs reports whether templates may read the logs of the objects, which are Pods.
func (e *Entry) ReadsLogs() bool { return e.Logs != nil }

// State is the state of the objects of an Entry.
type State int

const (
	// Waiting means that the initial list is in progress.
	Waiting State = iota
	// Unreadable means that the objects could not be read yet, or the permission to read them was revoked. It is unknown which
	// exist.
	Unreadable
	// Absent means that the API server does not serve the kind, or forbids reading it, and the entry is optional: it counts as
	// empty.
	Absent
	// Known means that the initial list is complete and reading is still allowed, so that the objects can be used. The watch may
	// have failed since: see Since.
	Known
)

// State returns the state of the objects. If some are Waiting or Unreadable, that applies to all of them.
func (e *Entry) State() State {
	if e.Err != nil {
		return e.without(kind.Missing(e.Err) && !kind.IsAPIServiceUnavailable(e.Err))
	}
	state := Known
	for cache := range e.read() {
		err := cache.Err()
		switch {
		case cache.Synced() && (err == nil || !apierrors.IsForbidden(err)):
			continue
		case err == nil:
			return Waiting
		}
		state = min(state, e.without(apierrors.IsForbidden(err) || apierrors.IsNotFound(err)))
	}
	return state
}

// without returns the State of an entry without objects: it is Absent if the entry is optional and said is true, which
// means that the API server reports the kind or the permission as missing. Any other error does not show which objects
// exist.
func (e *Entry) without(said bool) State {
	if e.Optional && said {
		return Absent
	}
	return Unreadable
}

// Gone reports whether the API server does not serve the kind at all, so that there are no objects.
func (e *Entry) Gone() bool { return kind.Gone(e.Err) }

// Since identifies the period during which the objects have been up to date without interruption, see
// watch.Cache.Since. It is 0 if they are not up to date. The objects of an optional kind that is not served are up to
// date: there are none.
func (e *Entry) Since() uint64 {
	if e.State() == Absent && !e.Gone() {
		return 0
	}
	return e.ReadSince()
}

// ReadSince is Since, except that an optional entry counts as empty whenever it is Absent.
func (e *Entry) ReadSince() uint64 {
	switch e.State() {
	case Absent:
		return 1
	case Waiting, Unreadable:
		return 0
	case Known:
	}
	sum := uint64(1)
	for cache := range e.read() {
		now := cache.Since()
		if now == 0 {
			return 0
		}
		sum += now
	}
	return sum
}

// Readable reports whether Since is not 0, ignoring a watch that is between two requests.
func (e *Entry) Readable() bool {
	if state := e.State(); state != Known {
		return state == Absent && e.Gone()
	}
	for cache := range e.read() {
		if !cache.Readable() {
			return false
		}
	}
	return true
}

// read returns all caches that the entry depends on.
func (e *Entry) read() iter.Seq[*watch.Cache] {
	return func(yield func(*watch.Cache) bool) {
		if e.Namespaces != nil && !yield(e.Namespaces) {
			return
		}
		for _, cache := range e.Caches {
			if !yield(cache) {
				return
			}
		}
	}
}

// Find returns the objects of a selection, sorted like children.
func (e *Entry) Find(s Selection) []*object.Object {
	var out []*object.Object
	for _, p := range s {
		for _, cache := range e.cachesOf(p.Namespace) {
			e.find(cache, p, func(o *object.Object) { out = append(out, o) })
		}
	}
	if e.More != nil {
		out = append(out, e.More(s)...)
	}
	slices.SortStableFunc(out, func(a, b *object.Object) int { return object.CompareKeys(a.Key(), b.Key()) })
	return slices.CompactFunc(out, func(a, b *object.Object) bool { return a == b || a.Key() == b.Key() }) // two parts may select the same object
}

// find calls f for the objects of a cache that a part selects.
func (e *Entry) find(cache *watch.Cache, p Part, f func(*object.Object)) {
	keep := func(o *object.Object) {
		if p.Selects(o) && e.inNamespace(o.Namespace()) {
			f(o)
		}
	}
	if p.Name != "" && !e.Kind.Namespaced {
		if o := cache.Get(types.NamespacedName{Name: p.Name}); o != nil {
			keep(o)
		}
		return
	}
	cache.Find(p.Term(), keep)
}

// cachesOf returns the caches that contain the objects of a namespace; "" means all.
func (e *Entry) cachesOf(namespace string) map[string]*watch.Cache {
	if namespace == "" || e.Caches[""] != nil {
		return e.Caches
	}
	if cache := e.Caches[namespace]; cache != nil {
		return map[string]*watch.Cache{namespace: cache}
	}
	return nil
}

// inNamespace reports whether the namespaceSelector selects the namespace. It is true if there is no namespaceSelector.
func (e *Entry) inNamespace(namespace string) bool {
	if e.Namespaces == nil {
		return true
	}
	ns := e.Namespaces.Get(types.NamespacedName{Name: namespace})
	return ns != nil && e.NamespaceSelector.Matches(ns)
}

// Reads reports whether the entry reads its objects from that watch.
func (e *Entry) Reads(want watch.Want) bool {
	cache := e.Caches[want.Namespace]
	return cache != nil && cache.Of(want)
}

// Changed calls wake for the parents that select the old or the new object, possibly twice. If none of watchFields has
// changed, parents that select both are skipped.
func (e *Entry) Changed(event watch.Event, wake func(parent types.NamespacedName)) {
	before, after := event.Old, event.New
	if o := after; o != nil && !e.inNamespace(o.Namespace()) || o == nil && !e.inNamespace(before.Namespace()) {
		return
	}
	fieldsChanged := before == nil || after == nil || !e.sameFields(before, after)
	if !fieldsChanged && before.SameLabels(after) {
		return
	}
	e.Index.each(before, after, func(m *member) {
		saw, sees := before != nil && m.selection.Selects(before), after != nil && m.selection.Selects(after)
		if saw != sees || sees && fieldsChanged {
			wake(m.parent)
		}
	})
}

// sameFields reports whether watchFields are set and none of them has changed.
func (e *Entry) sameFields(before, after *object.Object) bool {
	if len(e.Watched) == 0 || before.UID() != after.UID() {
		return false
	}
	for _, path := range e.Watched {
		if !before.SameAt(after, path) {
			return false
		}
	}
	return true
}

// NamespaceChanged calls wake for the parents that select objects in a namespace that the namespaceSelector now selects
// or no longer selects, possibly more than once.
func (e *Entry) NamespaceChanged(event watch.Event, wake func(parent types.NamespacedName)) {
	selects := func(o *object.Object) bool { return o != nil && e.NamespaceSelector.Matches(o) }
	if e.Namespaces == nil || selects(event.Old) == selects(event.New) {
		return
	}
	o := event.New
	if o == nil {
		o = event.Old
	}
	for _, cache := range e.cachesOf(o.Name()) {
		var there []*object.Object
		cache.Find(watch.Term{Namespace: o.Name()}, func(o *object.Object) { there = append(there, o) })
		for _, o := range there {
			e.Index.each(o, nil, func(m *member) {
				if m.selection.Selects(o) {
					wake(m.parent)
				}
			})
		}
	}
}
