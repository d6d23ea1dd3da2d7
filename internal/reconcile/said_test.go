package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestALastingFailureIsSaidAgain(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "count: {{ len .children.maps }}", "count: {{ fail \"no\" }}", "spec:\n", "spec:\n  resyncPeriod: 0s\n"))
	c.apply(app)
	c.run()
	const text = "one Warning TemplateFailed: status:1:11: no"
	want := []string{text}
	for _, step := range []struct {
		why  string
		wait time.Duration
		said bool
	}{
		{"at once", 0, false},
		{"a moment before it is time", sayAgain - time.Nanosecond, false},
		{"when it is time", time.Nanosecond, true},
		{"just after", time.Minute, false},
		{"once more", sayAgain - time.Minute, true},
	} {
		c.clock.SetTime(c.clock.Now().Add(step.wait))
		result, _ := c.pass("apps", "one")
		if step.said {
			want = append(want, text)
		}
		if diff := cmp.Diff(want, c.events); diff != "" {
			t.Errorf("%s: Events (-want +got):\n%s", step.why, diff)
		}
		if result.Retry != problem.RetryOnChange || result.After != sayAgain {
			t.Errorf("%s: looks again by %v after %s, want after %s", step.why, result.Retry, result.After, sayAgain)
		}
	}
	c.apply(with(t, apps, "spec:\n", "spec:\n  resyncPeriod: 0s\n"))
	c.run()
	if result, _ := c.pass("apps", "one"); result.After != 0 {
		t.Errorf("looks again after %s though all is well", result.After)
	}
}

func TestAProblemThatComesBackIsSaidAgain(t *testing.T) {
	for why, between := range map[string]string{"all was well": "count: 1", "it was waited for": "count: {{ wait \"later\" }}"} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(app)
			for _, status := range []string{"count: {{ fail \"no\" }}", between, "count: {{ fail \"no\" }}"} {
				c.apply(with(t, apps, "count: {{ len .children.maps }}", status))
				c.run()
				c.deliver()
				c.run()
			}
			const text = "one Warning TemplateFailed: status:1:11: no"
			if diff := cmp.Diff([]string{text, text}, c.events); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatWasSaidIsForgotten(t *testing.T) {
	one, two, other := keyOf("a", "1"), keyOf("a", "2"), keyOf("b", "1")
	for why, row := range map[string]struct {
		forget func(*said)
		left   []queue.Key
	}{
		"nothing":                             {func(*said) {}, []queue.Key{one, two, other}},
		"all is well":                         {func(s *said) { s.fresh(one, "") }, []queue.Key{two, other}},
		"all is well where nothing was wrong": {func(s *said) { s.fresh(keyOf("a", "3"), "") }, []queue.Key{one, two, other}},
		"a parent is gone":                    {func(s *said) { s.forget(one) }, []queue.Key{two, other}},
		"a TemplateController is gone":        {func(s *said) { s.ForgetController("a") }, []queue.Key{other}},
	} {
		s := newSaid(clock.RealClock{})
		for _, key := range []queue.Key{one, two, other} {
			if !s.fresh(key, "first") || s.fresh(key, "first") || !s.fresh(key, "bad") {
				t.Errorf("%s: what is new is not told, or what is not", why)
			}
			s.all(key, "x", []string{"bad"})
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
	if newSaid(clock.RealClock{}).fresh(one, "") {
		t.Error("that all is well is announced")
	}
}

func TestFaultsThatTheServerNamesInTurnAreToldTogether(t *testing.T) {
	s, key := newSaid(clock.RealClock{}), queue.Key{Controller: "apps"}
	for i, step := range []struct{ why, about, found, want string }{
		{"the first", "a", ".y: bad", "cannot: .y: bad"},
		{"another one of the same object", "a", ".x: bad", "cannot: .x: bad; .y: bad"},
		{"the first again", "a", ".y: bad", "cannot: .x: bad; .y: bad"},
		{"another object", "b", ".y: bad", "cannot: .y: bad"},
	} {
		p := &problem.Problem{Message: "cannot: " + step.found, Faults: []string{step.found}}
		for range 2 { // telling it twice changes nothing
			p.SetFaults(s.all(key, step.about, p.Faults))
		}
		if p.Message != step.want {
			t.Errorf("step %d, %s: got %q, want %q", i, step.why, p.Message, step.want)
		}
	}
	s.fresh(key, "") // all is well
	if got := s.all(key, "b", []string{".z: bad"}); len(got) != 1 {
		t.Errorf("after all was well: got %q", got)
	}
}
