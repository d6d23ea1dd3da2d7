package controllers

import (
	"context"

	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/render/budget"
)

// reviews is the tenant of admission reviews. No TemplateController can have that name.
const reviews = "admission reviews"

// Reserve waits until an admission review may use a place of the memory that all reconciliations share, which is budget.MaxBytes, and returns
// what gives it back. The error says that ctx has ended before. It is safe for concurrent use.
func (c *Controllers) Reserve(ctx context.Context) (release func(), err error) {
	var hold queue.Reservation
	hold.Open(ctx, c.shared, reviews)
	if err := hold.Grow(budget.MaxBytes); err != nil {
		hold.Close()
		return nil, err
	}
	return hold.Close, nil
}
