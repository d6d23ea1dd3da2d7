// Package gate holds entries of spec.children back until those that they wait for are ready. Pure.
package gate

import (
	"slices"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Gates tells which entries of one parent are held back, for one look at its children. It does not change; nil is where no
// entry waits for another. What is held back is what would be created, changed or removed. Objects that are as their
// template says stay so.
type Gates struct {
	order  *spec.Order
	closed []closed // those that wait come behind what they wait for
	// unrendered are closed entries of which nobody knows all that they want.
	unrendered []string
}

// closed is an entry that is held back, and why.
type closed struct {
	entry string
	obstacle
}

// Of returns the gates for what is wanted, which has been paired with what there is.
func Of(order *spec.Order, d *child.Desired, judge *readiness.Judge) *Gates {
	if order == nil {
		return nil
	}
	g := &Gates{order: order}
	for _, entry := range order.Waiting() {
		if o, obstructed := g.nearest(entry, d, judge); obstructed {
			g.closed = append(g.closed, closed{entry, o})
			if slices.Contains(d.Failed, entry) {
				g.unrendered = append(g.unrendered, entry)
			}
		}
	}
	return g
}

// nearest returns what an entry waits for, if there is anything: one that waits itself before others, for these may be what
// that one waits for.
func (g *Gates) nearest(entry string, d *child.Desired, judge *readiness.Judge) (found obstacle, obstructed bool) {
	names := g.order.DependsOn(entry)
	if i := slices.IndexFunc(names, g.Closed); i >= 0 {
		return obstacle{entry: names[i]}, true
	}
	for _, name := range names {
		if found, obstructed = look(name, d, judge); obstructed {
			break
		}
	}
	return found, obstructed
}

// Closed reports whether an entry is held back.
func (g *Gates) Closed(entry string) bool {
	return g != nil && slices.ContainsFunc(g.closed, func(c closed) bool { return c.entry == entry })
}

// Keeps reports whether an object stays although nobody wants it: its entry is held back, or an entry may want it of
// which that is not known yet. What it waits for itself is not its own: that goes on, or it might wait for ever.
func (g *Gates) Keeps(l *child.Live) bool {
	if g == nil || len(g.closed) == 0 {
		return false
	}
	if g.Closed(l.MadeFrom) {
		return true
	}
	return slices.ContainsFunc(g.unrendered, func(entry string) bool { return !g.order.After(entry, l.MadeFrom) })
}

// Told returns the faults that are to be told now. That of an entry which waits may be gone when its turn has come.
func (g *Gates) Told(all []child.Fault) problem.List {
	var told problem.List
	for _, f := range all {
		if f.Always || !g.Closed(f.Entry) {
			told = append(told, f.Problem)
		}
	}
	return told
}

// isUnrendered reports whether nobody knows all that a closed entry wants.
func (g *Gates) isUnrendered(entry string) bool { return slices.Contains(g.unrendered, entry) }

// Opened reports whether an entry that was held back is so no longer.
func (g *Gates) Opened(now *Gates) bool {
	return g != nil && slices.ContainsFunc(g.closed, func(c closed) bool { return !now.Closed(c.entry) })
}
