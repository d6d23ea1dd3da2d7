package controllers

import (
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// askAgain has a controller looked at later that may not read something, or that watches a namespace that is not
// there, to say what is missing still.
func (c *Controllers) askAgain(next *running.Controller) {
	switch {
	case next.Forbidden():
		c.queue.AddAfter(next.Name, permissions.BelievedFor)
	case len(next.AbsentNamespaces()) > 0:
		c.queue.AddAfter(next.Name, problem.SlowRetry)
	}
	c.tryEventsAgain(next)
}

// tryEventsAgain has one of the parents looked at in each of the namespaces where Events were refused, to try again: they are written
// as the account of the controller.
func (c *Controllers) tryEventsAgain(next *running.Controller) {
	all := c.events.Refused(next.Name, next.As)
	for _, one := range all {
		switch due := c.clock.Since(one.At) >= problem.SlowRetry; {
		case due && next.Parent(one.Key.Parent) == nil:
			c.events.Forget(one.Key) // it has left, and no pass has anything to say about it
		case due:
			c.parents.Add(one.Key)
		}
	}
	if len(all) > 0 {
		c.queue.AddAfter(next.Name, problem.SlowRetry)
	}
}
