// Package preflight finds out what a revision that does not run would do: it runs whole reconciliations whose writes are server-side dry runs.
package preflight

import (
	"context"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// Options configure a Planner.
type Options struct {
	// Client returns a client whose writes are dry runs, and which impersonates a user: kube.Client.DryRun.
	Client func(as string) controller.Client
	Clock  clock.PassiveClock
	// Memory limits the memory of reconciliations and dry runs together; nil = no limit.
	Memory *queue.Memory
	// MayWrite is as in reconcile.Checks; nil = there is no other TemplateController.
	MayWrite func(name string, kind schema.GroupKind, parent types.NamespacedName) bool
}

// Planner runs reconciliations as dry runs. It is safe for concurrent use.
type Planner struct{ Options }

// New returns a Planner.
func New(o Options) *Planner {
	if o.Memory == nil {
		o.Memory = queue.NewMemory(math.MaxInt64, queue.NewTenants())
	}
	return &Planner{o}
}

// Candidate is a revision that is not running.
type Candidate struct {
	New     *controller.Controller
	Current *controller.Controller // what runs: each parent is compared with its revision; nil if there is none
	// Parents are the parents to reconcile; only the first MostParents count.
	Parents []types.NamespacedName
}

// MostParents is the maximum number of parents of a preflight.
const MostParents = 3

// Verdict is the result of a preflight. Its texts contain no values of objects.
type Verdict struct {
	// Refused are the writes that the API server refuses, such as "create Deployment default/web for Site default/a: MESSAGE". If there are
	// any, the revision must not be rolled out.
	Refused []string
	// NotChecked are writes whose results are unknown or do not count, and why.
	NotChecked []string
	// UnreadKinds are kinds that New does not watch. Until it does, parents with such children are not checked.
	UnreadKinds []schema.GroupVersionKind
	// Retry is true if a later preflight may find more: the API server did not respond, a permission is missing, or a cache is syncing.
	Retry bool
}

// Preflight decides whether a new revision may be rolled out. A write counts as refused if its dry run is rejected with 422, or for each parent
// with 403, and the current revision does not need the write, or its dry run is accepted.
func (p *Planner) Preflight(ctx context.Context, in Candidate) Verdict {
	var v Verdict
	var attempts []Attempt
	for _, parent := range in.Parents[:min(len(in.Parents), MostParents)] {
		a := p.DryRun(ctx, in.New, parent)
		v.add(&a)
		if a.Ran {
			attempts = append(attempts, a)
		}
		if a.Denied && !v.Retry { // a missing permission is waited for, unless it is missing already
			v.Retry = !p.current(ctx, in, parent).Denied
		}
	}
	for i := range attempts {
		a, current := &attempts[i], (*Attempt)(nil)
		for _, w := range a.Writes {
			counts := w.Outcome == Invalid || w.Outcome == Forbidden && forbiddenForAll(attempts, w)
			switch {
			case w.Why == "" || w.Outcome == Conflict: // Problems has the conflicts with objects of others
				continue
			case !counts && w.Outcome == Forbidden:
				v.NotChecked = append(v.NotChecked, a.describe(w)+" (not for all examined parents)")
				continue
			case !counts:
				v.NotChecked = append(v.NotChecked, a.describe(w))
				continue
			case current == nil:
				current = p.current(ctx, in, a.Parent.Name)
			}
			v.judge(a, w, current)
		}
	}
	return v
}

// add adds what an attempt did not check.
func (v *Verdict) add(a *Attempt) {
	v.NotChecked, v.Retry = append(v.NotChecked, a.NotChecked...), v.Retry || a.Retry
	for _, kind := range a.UnreadKinds {
		if !slices.Contains(v.UnreadKinds, kind) {
			v.UnreadKinds = append(v.UnreadKinds, kind)
		}
	}
}

// current reconciles the parent with the revision that it has. Without one, nothing is written.
func (p *Planner) current(ctx context.Context, in Candidate, parent types.NamespacedName) *Attempt {
	running := in.Current
	if running != nil {
		if o := running.Parent(parent); o != nil {
			running = running.For(o)
		}
	}
	if running == nil {
		return &Attempt{Ran: true}
	}
	a := p.DryRun(ctx, running, parent)
	return &a
}

// judge decides about a refused write, given the attempt of the current revision.
func (v *Verdict) judge(a *Attempt, w *Write, current *Attempt) {
	same, text := current.written[partOf(w.At, w.Verb)], a.describe(w)
	if same == nil {
		same = &Write{}
	}
	transient := !current.Ran && current.Retry || same.Outcome == Unanswered || same.Outcome == Denied || same.Outcome == Conflict
	switch {
	case transient, !current.Ran, len(current.UnreadKinds) > 0, same.Outcome == Unsent, same.Outcome == Unsupported:
		v.NotChecked, v.Retry = append(v.NotChecked, text+" (the current revision cannot be compared)"), v.Retry || transient
	case same.Outcome == Accepted:
		v.Refused = append(v.Refused, text)
	default:
		v.NotChecked = append(v.NotChecked, text+" (the current revision fails, too)")
	}
}

// forbiddenForAll reports whether each attempt has a forbidden write of that kind of objects.
func forbiddenForAll(attempts []Attempt, w *Write) bool {
	return !slices.ContainsFunc(attempts, func(a Attempt) bool {
		return !slices.ContainsFunc(a.Writes, func(other *Write) bool {
			return other.Outcome == Forbidden && other.At.Resource.GroupResource() == w.At.Resource.GroupResource()
		})
	})
}
