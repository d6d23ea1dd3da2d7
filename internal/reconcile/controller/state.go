package controller

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// State is the state of a controller and its caches. If it differs from the previous state, all parents are reconciled.
type State struct {
	facts
	parents    map[string]cacheState // by namespace; "" = all
	children   map[schema.GroupKind]sourceState
	namespaces cacheState
	related    []entryState // in the order of the spec
}

// facts is the part of the state that does not depend on caches.
type facts struct {
	spec          *v1.TemplateControllerSpec // compared by identity: a revision that keeps running has the same spec
	round         uint32                     // of the seals
	suspended     bool
	teardown      bool // see Mode.TeardownOnly
	gone          bool // the parents' kind is not served
	revision      string
	hasNamespaces bool
}

// cacheState is the state of a cache. It has the number of failures, because a reconciliation may have been affected by a failure that was over
// before other code noticed it.
type cacheState struct {
	cache    *watch.Cache
	readable bool
	failures int
}

// sourceState is the state of the children of a kind.
type sourceState struct {
	revision string
	lost     bool
	recorded bool
	caches   map[string]cacheState // by namespace; "" = all
}

// entryState is the state of an entry of spec.related.
type entryState struct {
	known      related.State
	gone       bool                  // the kind is not served
	caches     map[string]cacheState // by namespace; "" = all
	namespaces cacheState
}

func (s entryState) equal(other entryState) bool {
	return s.known == other.known && s.gone == other.gone && s.namespaces == other.namespaces && maps.Equal(s.caches, other.caches)
}

// State returns the state of the controller. gone is whether the parents' kind is not served.
func (c *Controller) State(gone bool) *State {
	s := &State{
		facts: facts{
			spec: c.Spec, round: c.Factory.Seals.Round(), suspended: c.Spec.Suspend, teardown: c.TeardownOnly,
			gone: gone, revision: c.Kind.Revision, hasNamespaces: c.Namespaces != nil,
		},
		parents: cacheStates(c.Parents), children: make(map[schema.GroupKind]sourceState, len(c.Sources)), namespaces: cacheStateOf(c.Namespaces),
	}
	for gk, child := range c.Sources {
		s.children[gk] = sourceState{revision: child.Kind.Revision, lost: child.Err != nil, recorded: !child.Unrecorded, caches: cacheStates(child.Caches)}
	}
	for _, e := range c.Related {
		s.related = append(s.related, entryState{known: e.State(), gone: e.Gone(), caches: cacheStates(e.Caches), namespaces: cacheStateOf(e.Namespaces)})
	}
	return s
}

func cacheStates(caches map[string]*watch.Cache) map[string]cacheState {
	out := make(map[string]cacheState, len(caches))
	for ns, cache := range caches {
		out[ns] = cacheStateOf(cache)
	}
	return out
}

func cacheStateOf(cache *watch.Cache) cacheState {
	if cache == nil {
		return cacheState{readable: true}
	}
	return cacheState{cache: cache, readable: Readable(cache), failures: cache.Failures()}
}

// Equal reports whether two states are equal; nil is the state of a controller that does not run.
func (s *State) Equal(other *State) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.facts == other.facts && s.namespaces == other.namespaces && maps.Equal(s.parents, other.parents) &&
		maps.EqualFunc(s.children, other.children, sourceState.equal) && slices.EqualFunc(s.related, other.related, entryState.equal)
}

func (s sourceState) equal(other sourceState) bool {
	return s.revision == other.revision && s.lost == other.lost && s.recorded == other.recorded && maps.Equal(s.caches, other.caches)
}
