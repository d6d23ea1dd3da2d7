// Package related finds the related objects that a parent selects, and the parents that select an object which has changed.
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

// Entry is an entry of spec.related at work: the caches of its objects, and the index of the parents that see them. It is immutable.
type Entry struct {
	*spec.Related
	Kind   kind.Kind
	Caches map[string]*watch.Cache // by namespace; "" = all namespaces; empty while the server does not have the kind
	// Err is why there are no caches.
	Err        error
	Namespaces *watch.Cache // nil unless there is a namespaceSelector
	// More returns objects of a selection that are kept elsewhere; nil is for none. Of several objects of one name, that of the caches counts.
	More  func(Selection) []*object.Object
	Index *Index
}

// ReadsLogs reports whether templates may read the logs of the objects, which are Pods.
func (e *Entry) ReadsLogs() bool { return e.Logs != nil }

// State is what is known of the objects of an Entry.
type State int

const (
	// Waiting is that they are being read for the first time.
	Waiting State = iota
	// Unreadable is that they could not be read so far, or that the permission to read them was withdrawn. Nobody knows which there are.
	Unreadable
	// Absent means that the server does not have the kind, or forbids reading it, and the entry is optional: it counts as empty.
	Absent
	// Known is that they were all read once, and may be read still, so that what is known of them is worth a look. The watch may have failed since: see Since.
	Known
)

// State returns what is known of the objects. Where some are still being read, or could not be read, that holds for all.
func (e *Entry) State() State {
	if e.Err != nil {
		return e.without(kind.Missing(e.Err) && !kind.Away(e.Err))
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

// without returns the State of an entry without objects: it depends on whether the server reports that the kind or the permission is missing.
// Any other failure says nothing about which objects exist.
func (e *Entry) without(said bool) State {
	if e.Optional && said {
		return Absent
	}
	return Unreadable
}

// Gone reports whether the server does not have the kind at all, so that there is no such object.
func (e *Entry) Gone() bool { return kind.Gone(e.Err) }

// Since identifies the period in which all objects have been known as they are: see watch.Cache.Since. It is 0 if they are not known. Those of
// an optional kind that is not served are known: there are none.
func (e *Entry) Since() uint64 {
	if e.State() == Absent && !e.Gone() {
		return 0
	}
	return e.ReadSince()
}

// ReadSince is Since for what cannot be read for good: an optional entry counts as empty where it is Absent.
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

// Readable is whether Since is other than 0, but for a watch that is between two requests.
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

// read returns all that the objects are read by.
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

// Find returns the objects of a selection, sorted as children are.
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
	return slices.CompactFunc(out, func(a, b *object.Object) bool { return a == b || a.Key() == b.Key() }) // two parts may select one object
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

// cachesOf returns those that hold the objects of a namespace, or all where it is empty.
func (e *Entry) cachesOf(namespace string) map[string]*watch.Cache {
	if namespace == "" || e.Caches[""] != nil {
		return e.Caches
	}
	if cache := e.Caches[namespace]; cache != nil {
		return map[string]*watch.Cache{namespace: cache}
	}
	return nil
}

// inNamespace reports whether the namespaceSelector, if any, selects it.
func (e *Entry) inNamespace(namespace string) bool {
	if e.Namespaces == nil {
		return true
	}
	ns := e.Namespaces.Get(types.NamespacedName{Name: namespace})
	return ns != nil && e.NamespaceSelector.Matches(ns)
}

// Reads reports whether the entry reads its objects by that watch.
func (e *Entry) Reads(want watch.Want) bool {
	cache := e.Caches[want.Namespace]
	return cache != nil && cache.Of(want)
}

// Changed calls wake for the parents that see an object which has changed, for some of them twice: those that see it only before, or
// only now, and, unless watchFields are all as they were, those that see it still.
func (e *Entry) Changed(event watch.Event, wake func(parent types.NamespacedName)) {
	before, after := event.Old, event.New
	if o := after; o != nil && !e.inNamespace(o.Namespace()) || o == nil && !e.inNamespace(before.Namespace()) {
		return
	}
	told := before == nil || after == nil || !e.sameFields(before, after)
	if !told && before.SameLabels(after) {
		return
	}
	e.Index.each(before, after, func(m *member) {
		saw, sees := before != nil && m.selection.Selects(before), after != nil && m.selection.Selects(after)
		if saw != sees || sees && told {
			wake(m.parent)
		}
	})
}

// sameFields reports whether nothing has changed that parents watch.
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

// NamespaceChanged calls wake for the parents that see objects in a namespace which is another one now, for some of them more
// than once.
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
