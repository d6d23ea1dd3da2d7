package queue

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestSlotsAreSharedBetweenTenants(t *testing.T) {
	t.Parallel()
	tenants := NewTenants()
	tenants.Set("greedy", &v1.ServiceAccountRef{Namespace: "one", Name: "a"})
	tenants.Set("also-greedy", &v1.ServiceAccountRef{Namespace: "one", Name: "b"})
	s := NewSlots(4, tenants)
	held := []func(){s.Take("greedy", nil), s.Take("also-greedy", nil)}
	waits := make(chan func())
	stop := make(chan struct{})
	go func() { waits <- s.Take("greedy", stop) }()
	held = append(held, s.Take("neighbor", nil)) // does not wait, although the other tenant does or soon will
	close(stop)
	if release := <-waits; release != nil {
		t.Error("a tenant has more than half of the slots")
	}
	for _, release := range held {
		release()
	}
	if n := s.slots.number(); n != 0 {
		t.Errorf("%d slots are taken", n)
	}
}

func TestWaitingForSlotEndsWhenItIsReleased(t *testing.T) {
	t.Parallel()
	s := NewSlots(1, NewTenants())
	first := s.Take("a", nil)
	waits := make(chan func())
	go func() { waits <- s.Take("b", nil) }()
	first()
	(<-waits)()
	if n := s.slots.number(); n != 0 {
		t.Errorf("%d slots are taken", n)
	}
}
