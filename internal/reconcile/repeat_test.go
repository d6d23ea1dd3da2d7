package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

func TestALastingFailureIsSaidAgain(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, withStatus(t, apps, "count: {{ fail \"no\" }}"), "spec:\n", "spec:\n  resyncPeriod: 0s\n"))
	c.KubectlApply(app)
	c.Run()
	const text = "one Warning TemplateFailed: status:1:11: no"
	want := []string{text}
	for _, step := range []struct {
		why  string
		wait time.Duration
		said bool
	}{
		{"at once", 0, false},
		{"a moment before it is time", record.RepeatAfter - time.Nanosecond, false},
		{"when it is time", time.Nanosecond, true},
		{"just after", time.Minute, false},
		{"once more", record.RepeatAfter - time.Minute, true},
	} {
		c.Clock.SetTime(c.Clock.Now().Add(step.wait))
		result, _ := c.Pass("apps", "one")
		if step.said {
			want = append(want, text)
		}
		if diff := cmp.Diff(want, c.Events); diff != "" {
			t.Errorf("%s: Events (-want +got):\n%s", step.why, diff)
		}
		if result.Retry != problem.RetryOnChange || result.After != record.RepeatAfter {
			t.Errorf("%s: looks again by %v after %s, want after %s", step.why, result.Retry, result.After, record.RepeatAfter)
		}
	}
	c.KubectlApply(withSpec(t, apps, "resyncPeriod: 0s"))
	c.Run()
	if result, _ := c.Pass("apps", "one"); result.After != 0 {
		t.Errorf("looks again after %s though all is well", result.After)
	}
}

func TestAProblemThatComesBackIsSaidAgain(t *testing.T) {
	for why, between := range map[string]string{"all was well": "count: 1", "it was waited for": "count: {{ wait \"later\" }}"} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(app)
			for _, status := range []string{"count: {{ fail \"no\" }}", between, "count: {{ fail \"no\" }}"} {
				c.KubectlApply(withStatus(t, apps, status))
				c.Run()
				c.Deliver()
				c.Run()
			}
			const text = "one Warning TemplateFailed: status:1:11: no"
			if diff := cmp.Diff([]string{text, text}, c.Events); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}
