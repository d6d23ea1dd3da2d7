package queue

import "time"

// Slots limits how many TemplateControllers do long work in the background. The slots are shared between tenants. It is safe for concurrent use.
type Slots struct {
	slots   *fairSlots
	tenants *Tenants
}

// NewSlots returns the given number of slots, all of them free. A tenant has at most half of them.
func NewSlots(number int, tenants *Tenants) *Slots {
	return &Slots{slots: newFairSlots(number), tenants: tenants}
}

// Take blocks until the tenant of a controller has a slot, and returns a function that releases it, or nil if stop is closed before.
func (s *Slots) Take(controller string, stop <-chan struct{}) (release func()) {
	tenant := s.tenants.Name(controller)
	if given := s.slots.take(tenant); given != nil {
		select {
		case <-given:
		case <-stop:
			if s.slots.withdraw(tenant, given) {
				return nil
			}
		}
	}
	since := time.Now()
	return func() { s.slots.put(tenant, time.Since(since)) }
}
