package controllers

import (
	"context"

	"github.com/templater-dev/templater/internal/reconcile/workers"
)

// reviews is the tenant of admission reviews. No TemplateController can have that name.
const reviews = "admission reviews"

// Reserve waits until an admission review may use so many bytes of the memory that all reconciliations share, and returns what gives them
// back. The error says that ctx has ended before. It is safe for concurrent use.
func (c *Controllers) Reserve(ctx context.Context, bytes int) (release func(), err error) {
	var hold workers.Reservation
	hold.Open(ctx, c.shared, reviews)
	if err := hold.Grow(bytes); err != nil {
		hold.Close()
		return nil, err
	}
	return hold.Close, nil
}
