package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/spec"
)

const (
	// rightsAge is how long an answer about rights is believed.
	rightsAge = 10 * time.Second
	// rightsKept is how long one is kept that nobody asks for.
	rightsKept = 10 * time.Minute
	// asksPerSecond and askBurst limit the questions to the server, whatever is forbidden to whom.
	asksPerSecond, askBurst = 20, 60
	// askTime is how long the server may take for an answer.
	askTime = 10 * time.Second
	// mostAsked is how many claims may wait to be looked up; more are left for the next time.
	mostAsked = 100
)

// use is what templater does with the objects of a resource.
type use int

const (
	asParents use = iota
	asChildren
	asNamespaces
	asStatus     // of parents
	asFinalizers // of parents, where an admission plugin asks for it
	asEvents     // about parents
	toExist      // one that a spec names: see presence.go
)

// verbs are those that the use needs, in the order in which messages have them.
func (u use) verbs() []string {
	switch u {
	case asParents:
		return []string{"get", "list", "watch"}
	case asChildren:
		return []string{"create", "delete", "get", "list", "patch", "watch"}
	case asNamespaces:
		return []string{"list", "watch"}
	case asStatus:
		return []string{"patch"}
	case asFinalizers:
		return []string{"update"}
	case asEvents:
		return []string{"create", "patch"}
	case toExist:
		return []string{"get"}
	}
	return nil
}

// subresource is that of the resource which the use is of.
func (u use) subresource() string {
	switch u {
	case asStatus:
		return "status"
	case asFinalizers:
		return "finalizers"
	case asParents, asChildren, asNamespaces, asEvents, toExist:
	}
	return ""
}

// claim is the rights that a user needs for a use of a resource.
type claim struct {
	as         string // empty = the operator itself
	use        use
	resource   schema.GroupResource
	namespaced bool   // whether the resource is
	namespace  string // empty = all, or a cluster-scoped resource
	unlimited  bool   // whether spec.watch.namespaces cannot limit where, for the parents are cluster-scoped
	name       string // of the object; empty = all
	// acting is whether the rights are those of the operator, to act as the user.
	acting bool
}

// finding is what the server says of a claim.
type finding struct {
	known   bool
	pending bool     // nothing is known yet, but will be soon
	missing []string // verbs
	// constrained is, where the claim is about acting as a user, whether the operator may do so for
	// some requests; missing has the verbs of the others.
	constrained bool
	absent      bool // the object is not there
}

// rights finds out which rights are missing, once a request has been
// forbidden. It asks the server in the background, at a limited rate, so that nobody
// waits for it. It is safe for concurrent use.
type rights struct {
	clusters func(as string) Writer
	clock    clock.PassiveClock
	limit    flowcontrol.RateLimiter
	queue    workqueue.TypedInterface[claim]
	changed  func(controller string)

	mu    sync.Mutex
	found map[claim]*answered
}

// answered is a finding, and who is to hear when it changes.
type answered struct {
	finding
	asked, used time.Time
	controllers map[string]struct{}
}

// same reports whether two findings say the same.
func (f finding) same(other finding) bool {
	return f.known == other.known && f.constrained == other.constrained && f.absent == other.absent && slices.Equal(f.missing, other.missing)
}

// newRights returns rights that calls changed for each controller whose finding is new.
func newRights(clusters func(as string) Writer, clock clock.PassiveClock, metrics workqueue.MetricsProvider, changed func(controller string)) *rights {
	return &rights{
		clusters: clusters, clock: clock, changed: changed, found: map[claim]*answered{},
		limit: flowcontrol.NewTokenBucketRateLimiter(asksPerSecond, askBurst),
		queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[claim]{Name: "rights", MetricsProvider: metrics}),
	}
}

// look returns what is known of a claim, at once, and has it looked up when that is
// nothing, or not fresh. The controller hears when it changes.
func (r *rights) look(c claim, controller string) finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.found[c]
	if a == nil {
		r.sweep()
		a = &answered{controllers: map[string]struct{}{}}
		r.found[c] = a
	}
	a.used = r.clock.Now()
	a.controllers[controller] = struct{}{}
	if (a.asked.IsZero() || r.clock.Since(a.asked) >= rightsAge) && r.queue.Len() < mostAsked {
		r.queue.Add(c)
		a.pending = a.asked.IsZero()
	}
	return a.finding
}

// sweep drops findings that nobody asks for any more; the lock is held.
func (r *rights) sweep() {
	for c, a := range r.found {
		if r.clock.Since(a.used) > rightsKept {
			delete(r.found, c)
		}
	}
}

// run looks up until ctx ends.
func (r *rights) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	for r.next(ctx) {
	}
}

// next looks up one claim, and reports whether there may be more.
func (r *rights) next(ctx context.Context) bool {
	return queue.Take(ctx, r.queue, func(c claim) {
		limited, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		f, err := r.ask(limited, c)
		if err != nil { // asked again when the request is forbidden again
			klog.FromContext(ctx).V(2).Info("cannot find out which rights are missing", "user", c.as, "resource", c.resource.String(), "reason", problem.PublicReason(err))
		}
		for _, controller := range r.take(c, f) {
			r.changed(controller)
		}
	})
}

// ask asks the server, one question for each verb.
func (r *rights) ask(ctx context.Context, c claim) (finding, error) {
	if c.use == toExist {
		absent, err := r.absent(ctx, c)
		return finding{known: err == nil, absent: absent}, err
	}
	if !c.acting {
		missing, err := r.missing(ctx, c.as, c, "")
		return finding{known: err == nil, missing: missing}, err
	}
	// Constrained impersonation (KEP-5284) asks for one right to act as the account, and for one for each
	// verb; without the first, it is impersonation as such that is missing.
	if err := r.limit.Wait(ctx); err != nil {
		return finding{}, err
	}
	namespace, name := spec.Account(c.as)
	constrained, err := r.clusters("").Allowed(ctx, kube.Right{
		Verb: "impersonate:serviceaccount", Namespace: namespace, Name: name,
		Resource: schema.GroupResource{Group: "authentication.k8s.io", Resource: "serviceaccounts"},
	})
	if err != nil || !constrained {
		return finding{known: err == nil}, err
	}
	missing, err := r.missing(ctx, "", c, actingPrefix)
	return finding{known: err == nil, missing: missing, constrained: true}, err
}

// actingPrefix begins the verbs of constrained impersonation.
const actingPrefix = "impersonate-on:serviceaccount:"

// missing returns which of the claim's verbs, with the prefix, the user lacks.
func (r *rights) missing(ctx context.Context, as string, c claim, prefix string) ([]string, error) {
	var out []string
	for _, verb := range c.use.verbs() {
		if err := r.limit.Wait(ctx); err != nil {
			return nil, err
		}
		right := kube.Right{Verb: prefix + verb, Resource: c.resource, Subresource: c.use.subresource(), Namespace: c.namespace}
		allowed, err := r.clusters(as).Allowed(ctx, right)
		if err != nil {
			return nil, err
		}
		if !allowed {
			out = append(out, right.Verb)
		}
	}
	return out, nil
}

// take keeps a finding and returns whom it is new to. One that could not be had
// leaves the last one as it is.
func (r *rights) take(c claim, f finding) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.found[c]
	if a == nil {
		return nil
	}
	a.asked = r.clock.Now()
	waited := a.pending
	a.pending = false
	switch {
	case f.known && !a.same(f):
		a.finding = f
	case !waited:
		return nil
	}
	controllers := make([]string, 0, len(a.controllers))
	for controller := range a.controllers {
		controllers = append(controllers, controller)
	}
	clear(a.controllers)
	return controllers
}
