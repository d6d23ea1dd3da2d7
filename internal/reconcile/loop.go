package reconcile

import (
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// loopGuard slows down a parent with repeated writes although nothing about it changes: see queue.Breaker.
type loopGuard struct {
	*reconciliation
	parentSpec int64           // see specs
	suspect    bool            // whether earlier reconciliations have written recently
	rewrites   *queue.Rewrites // nil while no loop is suspected
	written    queue.Written
}

// begin returns how long to wait before this reconciliation may continue.
func (g *loopGuard) begin() (wait time.Duration) {
	if g.suspect = g.r.Breaker.Knows(g.key); !g.suspect {
		return 0
	}
	if wait = g.r.Breaker.Wait(g.key, g.specs()); wait == 0 {
		g.rewrites = g.r.Breaker.Rewrites(g.key, g.specs())
	}
	return wait
}

// check returns the problem of a parent that is slowed down, or nil.
func (g *loopGuard) check() *problem.Problem {
	if !g.suspect || !g.r.Breaker.Tripped(g.key, g.specs()) {
		return nil
	}
	return &problem.Problem{
		Reason: v1.ReasonLoopDetected, Retry: problem.RetrySlow,
		Message: "backing off: " + g.rewrites.Advice(),
	}
}

// end counts a reconciliation with writes, and reports whether there were too many. A change of related objects or logs since the previous
// reconciliation explains a write, like a change of the children does.
func (g *loopGuard) end() bool {
	if !g.written.Any() {
		return false
	}
	read := g.inputs.fingerprint()
	g.written.Before ^= read
	g.written.After ^= read
	return g.r.Breaker.Wrote(g.key, g.specs(), g.written)
}

// specs identifies the specs that the templates are rendered from.
func (g *loopGuard) specs() queue.Generations {
	if g.parentSpec == 0 {
		g.parentSpec = g.parent.Generation()
	}
	if g.parentSpec == 0 { // ConfigMaps, Secrets and other kinds have no generation
		g.parentSpec = child.ContentHash(g.inputs.content())
	}
	return queue.Generations{Parent: g.parentSpec, Controller: g.Generation}
}
