package queue

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// queue has tenants take places, one after the other, and remembers who has one, in order.
type placesLine struct {
	*places
	waiting []waiting
	got     []string
}

type waiting struct {
	tenant string
	given  <-chan struct{}
}

func (l *placesLine) take(tenants ...string) {
	for _, tenant := range tenants {
		given := l.places.take(tenant)
		if given == nil {
			l.got = append(l.got, tenant)
			continue
		}
		l.waiting = append(l.waiting, waiting{tenant, given})
	}
}

// given returns who has got a place since the last call.
func (l *placesLine) given() []string {
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

func (l *placesLine) expect(t *testing.T, why string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.given()); diff != "" {
		t.Errorf("%s: (-want +got):\n%s", why, diff)
	}
}

func (l *placesLine) put(tenants ...string) {
	for _, tenant := range tenants {
		l.places.put(tenant)
	}
}

func (p *places) expectIdle(t *testing.T) {
	t.Helper()
	if p.all != 0 || len(p.taken)+len(p.waiting)+len(p.order) > 0 {
		t.Errorf("something is left: %d are taken, by %v; waiting are %v in order %v", p.all, p.taken, p.waiting, p.order)
	}
}

func TestATenantHasAtMostHalfOfThePlaces(t *testing.T) {
	for number, want := range map[int]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 8: 4} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			l := &placesLine{places: newPlaces(number)}
			for range number + 2 {
				l.take("greedy")
			}
			if got := len(l.given()); got != want {
				t.Errorf("a tenant has %d of %d places, want %d", got, number, want)
			}
		})
	}
}

func TestTenantsThatWaitAreServedInTurn(t *testing.T) {
	l := &placesLine{places: newPlaces(2)}
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

func TestAFreePlaceIsTakenAtOnce(t *testing.T) {
	l := &placesLine{places: newPlaces(2)}
	l.take("a", "a", "b")
	l.expect(t, "b does not wait for a, which has its share", "a", "b")
	l.put("b")
	l.expect(t, "nor does a get more than its share")
	l.put("a")
	l.expect(t, "a has given one back", "a")
	l.put("a")
	l.expectIdle(t)
}

func TestAPlaceIsWantedByOtherTenantsThatLackOne(t *testing.T) {
	l := &placesLine{places: newPlaces(2)}
	for _, step := range []struct {
		why   string
		takes string
		want  bool // of a
	}{
		{"nobody waits", "a", false},
		{"others of the tenant wait", "a", false},
		{"all are taken", "b", false},
		{"another tenant waits that has its share", "b", false},
		{"another tenant waits that has none", "c", true},
	} {
		l.take(step.takes)
		if got := l.wanted("a"); got != step.want {
			t.Errorf("%s: wanted %v, want %v", step.why, got, step.want)
		}
	}
}

func TestWhoWaitsForAPlaceCanGiveUp(t *testing.T) {
	l := &placesLine{places: newPlaces(1)}
	l.take("a", "b", "b")
	if !l.withdraw("b", l.waiting[0].given) {
		t.Error("who waits has a place")
	}
	second := l.waiting[1].given
	l.put("a")
	<-second // it is next
	if l.withdraw("b", second) {
		t.Error("who has a place still waits")
	}
	l.put("b")
	l.expectIdle(t)
}

func TestWorkThatGaveWayGoesOnBeforeOthersOfItsTenantBegin(t *testing.T) {
	p := newPlaces(2)
	p.take("a")
	second, third := p.take("a"), p.take("b")
	if third != nil {
		t.Fatal("there is no place for another tenant")
	}
	p.put("a") // in a pause; the place goes to the second one
	<-second
	begins, goesOn := p.take("a"), p.retake("a")
	p.put("a")
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
