package controllers

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/quota"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// builder builds the running form of TemplateControllers from their specs, the kinds of the cluster, and caches.
type builder struct {
	*registry

	checks      *checks
	clusters    func(as string) controller.Client
	kinds       controller.Resolver
	seals       *seal.Ring
	departed    *child.Departed
	rights      *permissions.Tracker
	mayHave     func(object map[string]any, path []string) bool
	watchShares *quota.Watches // limits the watches of each TemplateController
}

// assembly is the result of resolving a TemplateController on this cluster, at one point in time.
type assembly struct {
	controller.Wants

	rejection *spec.Rejection
	linted    metav1.Condition
	lost      bool // the kind of the parents is no longer served, as of this assembly
	settled   map[schema.GroupKind]bool
	former    map[schema.GroupKind]bool
	trial     map[schema.GroupKind]bool // see controller.Source
	round     int64
	reports   bool // parents report that the spec is rejected
	released  bool // from the tracked TemplateController
	unwatched bool // nothing is watched, because the tenant has too many watches or TemplateControllers
	rolled    rolloutStatus
	needs     bool // a revision that runs needs the finalizer
	// refused is why the latest spec is rejected, while an earlier revision runs.
	refused *spec.Rejection
	// ending describes what a TemplateController that is being deleted waits for; nil = nothing.
	ending *spec.Rejection
}

// assemble resolves the kinds of a TemplateController. It may send discovery requests, without holding a lock.
func (b *builder) assemble(tc *v1.TemplateController, e *tracked, choice chosen) assembly {
	b.mu.RLock()
	a := assembly{
		rejection: e.rejection, refused: choice.refused, needs: spec.NeedsFinalizer(&tc.Spec) || choice.base != nil && spec.NeedsFinalizer(choice.base.spec), linted: e.linted, settled: maps.Clone(e.settled), former: e.former, round: e.round, released: e.Released,
		Wants: controller.Wants{Controller: tc.Key(), As: spec.User(&tc.Spec), Parents: map[string]watch.Want{}, Children: map[schema.GroupKind]controller.ChildWant{}},
	}
	if a.refused != nil {
		a.rejection = nil
	}
	if choice.running.id != e.revised.newest.id {
		a.trial = maps.Clone(e.revised.trialKinds)
	}
	childKinds, custom, in, early := maps.Clone(e.childKinds), maps.Clone(e.custom), maps.Clone(e.namespaces), e.earlyKinds(tc)
	b.mu.RUnlock()
	if b.checks.accounts && a.As == "" {
		return a // the operator must not touch anything as itself
	}
	for gk, version := range childKinds {
		a.Children[gk] = a.ChildrenOf(b.kinds, gk.WithVersion(version), custom[gk], in)
	}
	b.noteCustom(e, a.Children)
	if e.compiled == nil {
		return a
	}
	a.Kind, a.KindErr = b.kinds.Resolve(e.compiled.GVK)
	earlyWants := make([]controller.ChildWant, 0, len(early))
	for _, gvk := range early {
		if of := a.ChildrenOf(b.kinds, gvk, false, in); of.Err == nil {
			earlyWants = append(earlyWants, of)
		}
	}
	var relatedWants []controller.RelatedWant
	if a.rejection == nil {
		relatedWants, a.rejection = a.RelatedOf(b.kinds, e.compiled.Related)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ending := kind.TerminatingKind(a.KindErr)
	switch {
	case a.KindErr == nil:
		e.gone = false
		a.rejection = cmp.Or(a.rejection, spec.CheckKind(tc.Key(), &tc.Spec, a.Kind))
		a.reports = a.rejection != nil && a.mayReport(tc, e.compiled)
		if a.rejection == nil || a.reports || a.mayHold(tc) {
			a.WatchParents(tc, e.compiled)
		}
	case ending != nil && a.mayHold(tc):
		e.gone, a.Kind = false, *ending
		a.WatchParents(tc, e.compiled)
	case !kind.Gone(a.KindErr):
		e.gone = false
	case !e.gone:
		e.gone, a.lost = true, true
	}
	if a.rejection == nil && len(a.Parents) > 0 {
		a.Related, a.Early = relatedWants, earlyWants
	}
	return a
}

// rediscover refreshes discovery for kinds that were not found, now or later. It reports whether it was refreshed now.
func (b *builder) rediscover(name string, caches map[watch.Want]*watch.Cache) bool {
	missing, asked := controller.Doubt(b.kinds, caches)
	if missing {
		b.queue.AddAfter(name, queue.Jitter(problem.SlowRetry)) // there may be several API servers, of which one has been upgraded
	}
	return asked
}

// teardownOnly reports whether only parents that are being deleted and have the finalizer are reconciled.
func (a *assembly) teardownOnly() bool {
	return a.rejection != nil || kind.TerminatingKind(a.KindErr) != nil
}

// mayReport reports whether the parents are known although the spec is rejected, so that they can report the rejection.
func (a *assembly) mayReport(tc *v1.TemplateController, c *spec.Compiled) bool {
	byNamespace := len(tc.Spec.Watch.Namespaces) > 0 || c.NamespaceSelector != nil
	return !c.Unread && (a.Kind.Namespaced || !byNamespace) && !tc.Spec.Suspend
}

// build builds the controller. If the spec is rejected, the controller only has the children.
func (a *assembly) build(tc *v1.TemplateController, e *tracked, in *builder, choice chosen, caches map[watch.Want]*watch.Cache) *controller.Controller {
	keys := in.seals.Round() // before reading whether children are adopted, which may then be newer
	c := &controller.Controller{
		Access: controller.Access{
			As: a.As, Cluster: in.clusters(a.As), Rights: in.rights.For(tc.Key(), a.As, a.Kind).Anywhere(spec.CrossScope(&tc.Spec)), Meter: e.meter,
		},
		Mode: controller.Mode{
			Finalizer: v1.ParentFinalizer(tc.Key()), MayHold: a.mayHold(tc), TeardownOnly: a.teardownOnly(), Rejected: a.rejection != nil, ReportsRejection: a.reports,
		},
		Caches: controller.Caches{
			Kinds: in.kinds, Controllers: in.checks.CacheOf(tc.Key()), Kind: a.Kind, Settled: a.settled, Unknown: a.KindErr != nil && len(a.Parents) == 0,
		},
		Round:   a.round,
		MayHave: in.mayHave,
	}
	if e.compiled != nil {
		program := e.compiled.Program
		if c.Rejected {
			program = nil
		}
		if e.filter = e.filter.For(program, func() { in.queue.Add(tc.Key()) }); tc.Spec.Watch.Filter == "" {
			e.filter = nil
		}
		c.Filter = e.filter
	}
	c.Factory = &child.Factory{Ownership: &child.Ownership{Round: keys}}
	a.define(c, tc, e, in, choice.running)
	a.Join(c, caches)
	for gk, source := range c.Sources {
		source.Bit, source.Former, source.Trial = e.bit(gk), a.former[gk], a.trial[gk]
		c.Sources[gk] = source
	}
	a.relate(c, e, choice.running, caches)
	if c.Rollout = choice.rollout; c.Rollout != nil && choice.base != nil {
		c.Rollout.Base = a.variant(c, tc, e, in, *choice.base, caches)
	}
	return c
}

// variant returns a controller that runs another revision for the same parents.
func (a *assembly) variant(c *controller.Controller, tc *v1.TemplateController, e *tracked, in *builder, d definition, caches map[watch.Want]*watch.Cache) *controller.Controller {
	out := *c
	out.Rollout = nil
	a.define(&out, tc, e, in, d)
	a.relate(&out, e, d, caches)
	return &out
}

// define sets the revision that a controller runs.
func (a *assembly) define(c *controller.Controller, tc *v1.TemplateController, e *tracked, in *builder, d definition) {
	c.Definition = controller.Definition{
		Name: tc.Key(), Manager: v1.FieldManager(tc.Key()), Spec: d.spec, Generation: e.generation, Revision: d.id, Outdated: d.id != e.revised.newest.id,
		// Needed even if the rest of the spec is rejected, because it determines who owns the children.
		GVK: schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind),
	}
	c.NeedsFinalizer = spec.NeedsFinalizer(d.spec)
	if d.compiled != nil {
		c.Program, c.Resync, c.Order, c.FinalOrder = d.compiled.Program, d.compiled.Resync, d.compiled.Order, d.compiled.FinalOrder
		c.Labels, c.NamespaceSelector, c.ReadyCondition = d.compiled.Labels, d.compiled.NamespaceSelector, d.compiled.ReadyCondition
	}
	c.Factory = &child.Factory{
		Ownership: &child.Ownership{
			Controller: c.Name, Manager: c.Manager, Parents: c.GVK.GroupKind(), APIVersion: tc.Spec.Watch.APIVersion,
			Seals: in.seals, Departed: in.departed, Adopting: child.Adopting(tc, in.seals.Since()), Round: c.Factory.Round,
			Entries: slices.Concat(d.spec.Children, spec.Finals(d.spec)), Levels: c.Order.Levels(),
		},
		Spec: d.spec, Program: c.Program, ParentKind: c.Kind, Cluster: c, Clock: in.clock,
	}
}

// relate sets the related entries of a controller.
func (a *assembly) relate(c *controller.Controller, e *tracked, d definition, caches map[watch.Want]*watch.Cache) {
	c.Related = nil
	for i := range a.Related {
		c.Related = append(c.Related, a.Related[i].Entry(&d.compiled.Related[i], e.indexes[i], caches))
	}
}

// limitWatches removes the watches that exceed the limit of the tenant from an assembly: early ones, those of new child
// kinds, or all, if the others already exceed it. In the latter case, the recorded namespaces of children stay in
// effect, so that a spec that needs fewer watches is accepted again.
func (b *builder) limitWatches(tc *v1.TemplateController, e *tracked, a *assembly) {
	b.mu.RLock()
	kinds := slices.SortedFunc(maps.Keys(e.unrecorded), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	b.mu.RUnlock()
	needs := []int{a.Count(kinds)} // without the lock, because there may be many
	for _, gk := range kinds {
		needs = append(needs, len(a.Children[gk].Wants))
	}
	for _, of := range a.Early {
		needs = append(needs, len(of.Wants))
	}
	granted := b.watchShares.Claim(quota.WatchDemand{Name: tc.Key(), Tenant: b.tenants.Name(tc.Key()), Created: tc.CreationTimestamp.Time, Needs: needs})
	b.mu.Lock()
	defer b.mu.Unlock()
	if !granted[0] || quota.WasRefused(tc) && b.starting(tc.Key()) {
		a.refuse(needs[0], b.watchShares.Most)
		if e.recordedNamespaces != nil {
			e.namespaces = e.recordedNamespaces
		}
		return
	}
	for i, gk := range kinds {
		if !granted[i+1] {
			a.Unwatch(gk)
		}
	}
	early := a.Early
	a.Early = nil
	for i, of := range early {
		if granted[1+len(kinds)+i] {
			a.Early = append(a.Early, of)
		}
	}
}

// tooMany reports whether a TemplateController does not run because its namespace has too many. No earlier revision of it
// runs either. Its parents do not report that: there may be any number of them. One that is being deleted still needs its
// watches for the cleanup.
func tooMany(r *spec.Rejection) bool {
	return r != nil && r.Reason == v1.ReasonTooManyTemplateControllers
}

// refuse removes all watches, because the needed number of watches exceeds the limit of the tenant, most.
func (a *assembly) refuse(watches, most int) {
	advice := "list fewer namespaces in spec.watch.namespaces or spec.related, list none to use one cluster-wide watch per kind, or delete other TemplateControllers of the tenant"
	if v1.Namespaced(a.Controller) {
		advice = "render or relate to fewer kinds, or delete other NamespacedTemplateControllers in the namespace"
	}
	a.rejection = cmp.Or(a.rejection, spec.Rejectf(v1.ReasonTooManyWatches,
		"needs %d watches (one per kind and namespace), which exceeds what is left of the limit of %d for its tenant (all TemplateControllers whose service account is in the same namespace; older ones have precedence): %s; until then, children are left unchanged",
		watches, most, advice))
	a.unwatch()
}

// unwatch removes all watches.
func (a *assembly) unwatch() {
	a.unwatched, a.reports = true, false
	a.UnwatchAll()
}
