package controllers

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
)

// Lead ends the standby: it enqueues all TemplateControllers. Caches and templates are ready by then.
// TemplateControllers that the previous leader accepted are still accepted.
func (c *Controllers) Lead() {
	c.admitAll()
	c.led.Store(true)
	if c.standby.Swap(false) {
		close(c.leads)
	}
	c.enqueueControllers()
}

// KeysChanged enqueues all TemplateControllers because the seal keys have changed.
func (c *Controllers) KeysChanged() {
	if !c.standby.Load() {
		c.enqueueControllers()
	}
}

func (c *Controllers) enqueueControllers() {
	c.Each(func(o *object.Object) {
		c.queue.Add(store.KeyOf(o))
	})
}
