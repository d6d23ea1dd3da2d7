package controllers

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// mostWatches is how many watches the TemplateControllers of one tenant may have together: those of seven kinds in as many namespaces
// as spec.watch.namespaces may name.
const mostWatches = 1024

// watchShares divides the watches of each tenant among its TemplateControllers, the oldest first, so that it does not matter which of
// them a restarted operator reads first. It is safe for concurrent use.
type watchShares struct {
	most    int               // mostWatches, but in tests
	changed func(name string) // is called for a TemplateController whose share has become another one

	mu     sync.Mutex
	claims map[string]*claim // by TemplateController
}

// claim is how many watches a TemplateController needs.
type claim struct {
	name, tenant string
	created      time.Time
	needs        []int  // first those that it cannot do without, then further ones by kind
	granted      []bool // which of these it may have; none without the first
}

func newWatchShares(changed func(name string)) *watchShares {
	return &watchShares{most: mostWatches, changed: changed, claims: map[string]*claim{}}
}

// claim returns which of its needs a TemplateController is granted.
func (s *watchShares) claim(c claim) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.claims[c.name]
	if before != nil && before.tenant == c.tenant && before.created.Equal(c.created) && slices.Equal(before.needs, c.needs) {
		return before.granted
	}
	c.granted = make([]bool, len(c.needs))
	s.claims[c.name] = &c
	s.divide(c.tenant, c.name)
	if before != nil && before.tenant != c.tenant {
		s.divide(before.tenant, c.name)
	}
	return c.granted
}

// ForgetController gives the watches of a TemplateController to others.
func (s *watchShares) ForgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claims[name]; c != nil {
		delete(s.claims, name)
		s.divide(c.tenant, name)
	}
}

// divide divides the watches of a tenant because of the claim of one TemplateController, which is not queued for it; the lock is held.
func (s *watchShares) divide(tenant, because string) {
	claims := slices.SortedFunc(maps.Values(s.claims), func(a, b *claim) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name))
	})
	left := s.most
	for _, c := range claims {
		if c.tenant != tenant {
			continue
		}
		granted := c.grant(&left)
		if c.name != because && !slices.Equal(granted, c.granted) {
			s.changed(c.name)
		}
		copy(c.granted, granted)
	}
}

// grant takes what fits from those that are left.
func (c *claim) grant(left *int) []bool {
	granted := make([]bool, len(c.needs))
	for i, n := range c.needs {
		if granted[i] = n <= *left && (i == 0 || granted[0]); granted[i] {
			*left -= n
		}
	}
	return granted
}

// limitWatches takes from an assembly what its tenant may not watch: kinds of children that are new, or all where the rest is too much.
// Then the namespaces of children stay those on record, so that a spec that asks for less is taken again.
func (b *builder) limitWatches(tc *v1.TemplateController, e *tracked, a *assembly) {
	b.mu.RLock()
	kinds := slices.SortedFunc(maps.Keys(e.unrecorded), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	b.mu.RUnlock()
	needs := []int{a.countWatches(kinds)} // without the lock, for they may be many
	for _, gk := range kinds {
		needs = append(needs, len(a.children[gk].wants))
	}
	granted := b.watchShares.claim(claim{name: tc.Name, tenant: b.tenants.Name(tc.Name), created: tc.CreationTimestamp.Time, needs: needs})
	b.mu.Lock()
	defer b.mu.Unlock()
	if !granted[0] || wasRefused(tc) && b.starting(tc.Name) {
		a.refuse(needs[0], b.watchShares.most)
		if e.recordedNamespaces != nil {
			e.namespaces = e.recordedNamespaces
		}
		return
	}
	for i, gk := range kinds {
		if !granted[i+1] {
			a.unwatch(gk)
		}
	}
}

// wasRefused reports whether the status says that there was no room for the watches of a TemplateController.
func wasRefused(tc *v1.TemplateController) bool {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	return accepted != nil && accepted.Reason == v1.ReasonTooManyWatches
}

// countWatches returns how many watches there are to be but for those of children of these kinds.
func (a *assembly) countWatches(but []schema.GroupKind) int {
	all := map[watch.Want]struct{}{}
	for _, want := range a.wants() {
		all[want] = struct{}{}
	}
	n := len(all)
	for _, gk := range but {
		n -= len(a.children[gk].wants)
	}
	return n
}

// refuse has nothing be watched, because that would be so many watches, and the tenant may have so many.
func (a *assembly) refuse(watches, most int) {
	a.refused = true
	a.rejection = cmp.Or(a.rejection, spec.Rejectf(v1.ReasonTooManyWatches,
		"it needs %d watches, one for each kind in each namespace, more than are left of the %d of its tenant (a namespace of service accounts), where older TemplateControllers come first; name fewer namespaces in spec.watch.namespaces or spec.related, remove them all to read each kind with one cluster-wide watch, or delete other TemplateControllers of the tenant; until then, children are left unchanged",
		watches, most))
	a.parents, a.namespace, a.related, a.reports = map[string]watch.Want{}, nil, nil, false
	for gk := range a.children {
		a.unwatch(gk)
	}
}

// unwatch has the children of a kind not be watched.
func (a *assembly) unwatch(gk schema.GroupKind) {
	of := a.children[gk]
	of.wants, of.err = nil, cmp.Or(of.err, running.ErrTooManyWatches)
	a.children[gk] = of
}
