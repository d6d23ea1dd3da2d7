package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

func TestRecordedEventsAreForgotten(t *testing.T) {
	one, two, other := keyOf("a", "1"), keyOf("a", "2"), keyOf("b", "1")
	for why, row := range map[string]struct {
		forget func(*EventRecorder)
		left   []queue.Key
	}{
		"nothing":                             {func(*EventRecorder) {}, []queue.Key{one, two, other}},
		"all is well":                         {func(s *EventRecorder) { s.Fresh(one, "") }, []queue.Key{two, other}},
		"all is well where nothing was wrong": {func(s *EventRecorder) { s.Fresh(keyOf("a", "3"), "") }, []queue.Key{one, two, other}},
		"a parent is gone":                    {func(s *EventRecorder) { s.Forget(one) }, []queue.Key{two, other}},
		"a TemplateController is deleted":     {func(s *EventRecorder) { s.ForgetController("a") }, []queue.Key{other}},
	} {
		s := NewEventRecorder(EventOptions{Clock: clock.RealClock{}})
		for _, key := range []queue.Key{one, two, other} {
			if !s.Fresh(key, "first") || s.Fresh(key, "first") || !s.Fresh(key, "bad") {
				t.Errorf("%s: what is new is not told, or what is not", why)
			}
			s.Faults(key, "x", []string{"bad"})
		}
		row.forget(s)
		last, faults := map[queue.Key]string{}, map[queue.Key]string{}
		for key, what := range s.last {
			last[key] = what.text
		}
		for key, what := range s.faults {
			faults[key] = what.found[0]
		}
		want := map[queue.Key]string{}
		for _, key := range row.left {
			want[key] = "bad"
		}
		if diff := cmp.Diff(want, last) + cmp.Diff(want, faults); diff != "" {
			t.Errorf("%s: what is remembered (-want +got):\n%s", why, diff)
		}
	}
	if NewEventRecorder(EventOptions{Clock: clock.RealClock{}}).Fresh(one, "") {
		t.Error("that all is well is announced")
	}
}

func TestAlternatingServerFaultsAreReportedTogether(t *testing.T) {
	s, key := NewEventRecorder(EventOptions{Clock: clock.RealClock{}}), queue.Key{Controller: "apps"}
	for i, step := range []struct{ why, about, found, want string }{
		{"the first", "a", ".y: bad", "cannot: .y: bad"},
		{"another one of the same object", "a", ".x: bad", "cannot: .x: bad; .y: bad"},
		{"the first again", "a", ".y: bad", "cannot: .x: bad; .y: bad"},
		{"another object", "b", ".y: bad", "cannot: .y: bad"},
	} {
		p := &problem.Problem{Message: "cannot: " + step.found, Faults: []string{step.found}}
		for range 2 { // reporting it twice has no effect
			p.SetFaults(s.Faults(key, step.about, p.Faults))
		}
		if p.Message != step.want {
			t.Errorf("step %d, %s: got %q, want %q", i, step.why, p.Message, step.want)
		}
	}
	s.Fresh(key, "") // the problem is resolved
	if got := s.Faults(key, "b", []string{".z: bad"}); len(got) != 1 {
		t.Errorf("after all was well: got %q", got)
	}
}

func TestPersistentProblemIsRepeatedAfterInterval(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	r, key := NewEventRecorder(EventOptions{Clock: clock}), keyOf("apps", "one")
	r.Fresh(key, "bad")
	clock.SetTime(clock.Now().Add(RepeatAfter - 1))
	if r.Fresh(key, "bad") {
		t.Error("it is said again too early")
	}
	clock.SetTime(clock.Now().Add(1))
	if !r.Fresh(key, "bad") || r.Fresh(key, "bad") {
		t.Error("when it is time, it is not said again, or more than once")
	}
}
