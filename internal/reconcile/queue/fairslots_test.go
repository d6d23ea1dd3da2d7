package queue

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slotQueue takes slots for tenants, one after the other, and records who gets one, in order.
type slotQueue struct {
	*fairSlots
	waiting []waiting
	got     []string
}

type waiting struct {
	tenant string
	given  <-chan struct{}
}

func (l *slotQueue) take(tenants ...string) {
	for _, tenant := range tenants {
		given := l.fairSlots.take(tenant)
		if given == nil {
			l.got = append(l.got, tenant)
			continue
		}
		l.waiting = append(l.waiting, waiting{tenant, given})
	}
}

// given returns the tenants that got a slot since the last call.
func (l *slotQueue) given() []string {
	var left []waiting
	for _, each := range l.waiting {
		select {
		case <-each.given:
			l.got = append(l.got, each.tenant)
		default:
			left = append(left, each)
		}
	}
	got := l.got
	l.waiting, l.got = left, nil
	return got
}

func (l *slotQueue) expect(t *testing.T, why string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.given()); diff != "" {
		t.Errorf("%s: (-want +got):\n%s", why, diff)
	}
}

func (l *slotQueue) put(tenants ...string) {
	for _, tenant := range tenants {
		l.fairSlots.put(tenant, 0)
	}
}

func (p *fairSlots) expectIdle(t *testing.T) {
	t.Helper()
	if p.all != 0 || len(p.taken)+len(p.waiting)+len(p.order)+len(p.used) > 0 {
		t.Errorf("something is left: %d are taken, by %v; waiting are %v in order %v, who have used %v", p.all, p.taken, p.waiting, p.order, p.used)
	}
}

func TestTenantHasAtMostHalfOfSlots(t *testing.T) {
	for number, want := range map[int]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 8: 4} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			l := &slotQueue{fairSlots: newFairSlots(number)}
			for range number + 2 {
				l.take("greedy")
			}
			if got := len(l.given()); got != want {
				t.Errorf("a tenant has %d of %d slots, want %d", got, number, want)
			}
		})
	}
}

func TestWaitingTenantsAreServedRoundRobin(t *testing.T) {
	l := &slotQueue{fairSlots: newFairSlots(2)}
	l.take("a", "a", "a", "b", "b", "c")
	l.expect(t, "one for each, as long as there are some", "a", "b")
	l.put("a")
	l.expect(t, "first come, first served", "a")
	l.put("a")
	l.expect(t, "a has had two", "c")
	l.put("c")
	l.expect(t, "b has its share", "a")
	l.put("b")
	l.expect(t, "b again", "b")
	l.put("a", "b")
	l.expectIdle(t)
}

func TestFreeSlotIsGrantedImmediately(t *testing.T) {
	l := &slotQueue{fairSlots: newFairSlots(2)}
	l.take("a", "a", "b")
	l.expect(t, "b does not wait for a, which has its share", "a", "b")
	l.put("b")
	l.expect(t, "nor does a get more than its share")
	l.put("a")
	l.expect(t, "a has given one back", "a")
	l.put("a")
	l.expectIdle(t)
}

func TestSlotIsWantedByTenantsWithoutSlot(t *testing.T) {
	l := &slotQueue{fairSlots: newFairSlots(2)}
	for _, step := range []struct {
		why   string
		takes string
		want  bool // wanted("a")
	}{
		{"nobody waits", "a", false},
		{"others of the tenant wait", "a", false},
		{"all are taken", "b", false},
		{"another tenant waits that has its share", "b", false},
		{"another tenant waits that has none", "c", true},
	} {
		l.take(step.takes)
		if got := l.wanted("a", 0); got != step.want {
			t.Errorf("%s: wanted %v, want %v", step.why, got, step.want)
		}
	}
}

func TestSlotRequestCanBeWithdrawn(t *testing.T) {
	l := &slotQueue{fairSlots: newFairSlots(1)}
	l.take("a", "b", "b")
	if !l.withdraw("b", l.waiting[0].given) {
		t.Error("who waits has a slot")
	}
	second := l.waiting[1].given
	l.put("a")
	<-second // the slot was granted
	if l.withdraw("b", second) {
		t.Error("who has a slot still waits")
	}
	l.put("b")
	l.expectIdle(t)
}

func TestYieldedWorkResumesBeforeNewWorkOfTenant(t *testing.T) {
	p := newFairSlots(2)
	p.take("a")
	second, third := p.take("a"), p.take("b")
	if third != nil {
		t.Fatal("there is no slot for another tenant")
	}
	p.put("a", 0) // it pauses; the slot goes to the second one
	<-second
	begins, goesOn := p.take("a"), p.retake("a")
	p.put("a", 0)
	select {
	case <-goesOn:
	default:
		t.Error("the work that gave way does not go on")
	}
	select {
	case <-begins:
		t.Error("other work of the tenant has begun first")
	default:
	}
}
