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
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// builder makes the running form of TemplateControllers: of what their specs mean, the kinds of the cluster, and caches.
type builder struct {
	*registry

	checks      *checks
	clusters    func(as string) running.Client
	kinds       running.Resolver
	seals       *seal.Ring
	departed    *child.Departed
	rights      *permissions.Tracker
	mayHave     func(object map[string]any, path []string) bool
	watchShares *quota.Watches // how many watches each TemplateController may have
}

// assembly is what a TemplateController comes to on this cluster, now.
type assembly struct {
	running.Wants

	rejection *spec.Rejection
	linted    metav1.Condition
	lost      bool // whether the kind of the parents is not served any more, since now
	settled   map[schema.GroupKind]bool
	former    map[schema.GroupKind]bool
	round     int64
	reports   bool // whether parents report that the spec is rejected
	released  bool // as of the tracked TemplateController
	refused   bool // whether nothing is watched, because the tenant has too many watches
	// ending says what a TemplateController that is being deleted waits for, nil = nothing.
	ending *spec.Rejection
}

// assemble resolves the kinds of a TemplateController. It may request them from the server, and holds no lock
// meanwhile.
func (b *builder) assemble(tc *v1.TemplateController, e *tracked) assembly {
	b.mu.RLock()
	a := assembly{
		rejection: e.rejection, linted: e.linted, settled: maps.Clone(e.settled), former: e.former, round: e.round, released: e.Released,
		Wants: running.Wants{As: spec.User(&tc.Spec), Parents: map[string]watch.Want{}, Children: map[schema.GroupKind]running.ChildWant{}},
	}
	childKinds, custom, in := maps.Clone(e.childKinds), maps.Clone(e.custom), maps.Clone(e.namespaces)
	b.mu.RUnlock()
	if b.checks.accounts && a.As == "" {
		return a // the operator touches nothing by itself
	}
	for gk, version := range childKinds {
		a.Children[gk] = a.ChildrenOf(b.kinds, gk.WithVersion(version), custom[gk], in)
	}
	b.noteCustom(e, a.Children)
	if e.compiled == nil {
		return a
	}
	a.Kind, a.KindErr = b.kinds.Resolve(e.compiled.GVK)
	var relatedWants []running.RelatedWant
	if a.rejection == nil {
		relatedWants, a.rejection = a.RelatedOf(b.kinds, e.compiled.Related)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ending := kind.Ending(a.KindErr)
	switch {
	case a.KindErr == nil:
		e.gone = false
		a.rejection = cmp.Or(a.rejection, spec.CheckKind(&tc.Spec, a.Kind))
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
		a.Related = relatedWants
	}
	return a
}

// doubt has the server asked anew for kinds that are not found, now or a little later, and reports whether it was.
func (b *builder) doubt(name string, caches map[watch.Want]*watch.Cache) bool {
	missing, asked := running.Doubt(b.kinds, caches)
	if missing {
		b.queue.AddAfter(name, queue.Jitter(problem.SlowRetry)) // it may be one of several API servers that has been upgraded
	}
	return asked
}

// teardownOnly reports whether nothing is done but for parents that are being deleted and have the finalizer.
func (a *assembly) teardownOnly() bool { return a.rejection != nil || kind.Ending(a.KindErr) != nil }

// mayReport reports whether it is known which objects are the parents, though the spec is rejected, so that these can report that.
func (a *assembly) mayReport(tc *v1.TemplateController, c *spec.Compiled) bool {
	byNamespace := len(tc.Spec.Watch.Namespaces) > 0 || c.NamespaceSelector != nil
	return !c.Unread && (a.Kind.Namespaced || !byNamespace) && !tc.Spec.Suspend
}

// build puts the controller together. Where the spec is rejected it has only the
// children.
func (a *assembly) build(tc *v1.TemplateController, e *tracked, in *builder, caches map[watch.Want]*watch.Cache) *running.Controller {
	keys := in.seals.Round() // before what it says of adoption, which may be newer then
	c := &running.Controller{
		Definition: running.Definition{Name: tc.Name, Manager: v1.FieldManagerPrefix + tc.Name, Spec: &tc.Spec, Generation: e.generation},
		Access: running.Access{
			As: a.As, Cluster: in.clusters(a.As), Rights: in.rights.For(tc.Name, a.As, a.Kind).Anywhere(spec.CrossScope(&tc.Spec)), Meter: e.meter,
		},
		Mode: running.Mode{
			Finalizer: v1.FinalizerParentPrefix + tc.Name, NeedsFinalizer: spec.NeedsFinalizer(&tc.Spec), MayHold: a.mayHold(tc), TeardownOnly: a.teardownOnly(), Rejected: a.rejection != nil, ReportsRejection: a.reports,
		},
		Caches: running.Caches{
			Kinds: in.kinds, Controllers: in.checks.Cache, Kind: a.Kind, Settled: a.settled, Unknown: a.KindErr != nil && len(a.Parents) == 0,
		},
		Round:   a.round,
		MayHave: in.mayHave,
	}
	// Also if the rest of the spec is rejected: it decides who owns the children.
	c.GVK = schema.FromAPIVersionAndKind(tc.Spec.Watch.APIVersion, tc.Spec.Watch.Kind)
	if e.compiled != nil {
		c.Program, c.Resync = e.compiled.Program, e.compiled.Resync
		program := e.compiled.Program
		if c.Rejected {
			program = nil
		}
		if e.filter = e.filter.For(program, func() { in.queue.Add(c.Name) }); tc.Spec.Watch.Filter == "" {
			e.filter = nil
		}
		c.Filter = e.filter
		c.Order, c.FinalOrder = e.compiled.Order, e.compiled.FinalOrder
		c.Labels, c.NamespaceSelector, c.ReadyCondition = e.compiled.Labels, e.compiled.NamespaceSelector, e.compiled.ReadyCondition
	}
	c.Factory = &child.Factory{
		Ownership: &child.Ownership{
			Controller: c.Name, Manager: c.Manager, Parents: c.GVK.GroupKind(), APIVersion: tc.Spec.Watch.APIVersion,
			Seals: in.seals, Departed: in.departed, Adopting: child.Adopting(tc, in.seals.Since()), Round: keys,
			Entries: slices.Concat(tc.Spec.Children, spec.Finals(&tc.Spec)), Levels: c.Order.Levels(),
		},
		Spec: c.Spec, Program: c.Program, ParentKind: c.Kind, Cluster: c, Clock: in.clock,
	}
	a.Join(c, caches)
	for gk, source := range c.Sources {
		source.Bit, source.Former = e.bit(gk), a.former[gk]
		c.Sources[gk] = source
	}
	for i := range a.Related {
		c.Related = append(c.Related, a.Related[i].Entry(&e.compiled.Related[i], e.indexes[i], caches))
	}
	return c
}

// limitWatches takes from an assembly what its tenant may not watch: kinds of children that are new, or all where the rest is too much.
// Then the namespaces of children stay those on record, so that a spec that asks for less is taken again.
func (b *builder) limitWatches(tc *v1.TemplateController, e *tracked, a *assembly) {
	b.mu.RLock()
	kinds := slices.SortedFunc(maps.Keys(e.unrecorded), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	b.mu.RUnlock()
	needs := []int{a.Count(kinds)} // without the lock, for they may be many
	for _, gk := range kinds {
		needs = append(needs, len(a.Children[gk].Wants))
	}
	granted := b.watchShares.Claim(quota.Claim{Name: tc.Name, Tenant: b.tenants.Name(tc.Name), Created: tc.CreationTimestamp.Time, Needs: needs})
	b.mu.Lock()
	defer b.mu.Unlock()
	if !granted[0] || quota.WasRefused(tc) && b.starting(tc.Name) {
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
}

// refuse has nothing be watched, because that would be so many watches, and the tenant may have so many.
func (a *assembly) refuse(watches, most int) {
	a.refused = true
	a.rejection = cmp.Or(a.rejection, spec.Rejectf(v1.ReasonTooManyWatches,
		"it needs %d watches, one for each kind in each namespace, more than are left of the %d of its tenant (a namespace of service accounts), where older TemplateControllers come first; name fewer namespaces in spec.watch.namespaces or spec.related, remove them all to read each kind with one cluster-wide watch, or delete other TemplateControllers of the tenant; until then, children are left unchanged",
		watches, most))
	a.reports = false
	a.UnwatchAll()
}
