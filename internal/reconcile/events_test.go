package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// warnings returns the Events that report problems.
func (c *cluster) warnings() []string {
	return slices.DeleteFunc(slices.Clone(c.Events), func(event string) bool { return !strings.Contains(event, " Warning ") })
}

// TestDeletionsAndCorrectionsAreRecorded expects Normal Events on the parent for changes of children that are not visible afterwards.
func TestDeletionsAndCorrectionsAreRecorded(t *testing.T) {
	for _, row := range []struct {
		why, strategy string
		change        func(*cluster)
		want          []string
	}{
		{"nothing changes", "Apply", func(*cluster) {}, nil},
		{"children are created and updated", "Apply", func(c *cluster) { c.KubectlApply(newApp(withChildren("a", "b", "c"), withText("bye"))) }, nil},
		{"no template yields a child any more", "Apply", func(c *cluster) { c.KubectlApply(newApp(withChildren("a"))) },
			[]string{"one Normal SuccessfulDelete: pruned because no template renders it: ConfigMap ns/b"}},
		{"no template yields many", "Apply", func(c *cluster) {
			c.KubectlApply(newApp(withChildren("a", "b", "c", "d", "e", "f")))
			c.Run()
			c.Deliver()
			c.KubectlApply(newApp(withChildren("a")))
		}, []string{"one Normal SuccessfulDelete: pruned because no template renders it: ConfigMap ns/b; ConfigMap ns/c; ConfigMap ns/d; and 2 more"}},
		{"no template of a strategy that recreates yields a child any more", "Recreate", func(c *cluster) { c.KubectlApply(newApp(withChildren("a"))) },
			[]string{"one Normal SuccessfulDelete: pruned because no template renders it: ConfigMap ns/b"}},
		{"children are recreated", "Recreate", func(c *cluster) { c.KubectlApply(newApp(withText("bye"))) },
			[]string{"one Normal SuccessfulDelete: deleted to be recreated: ConfigMap ns/a; ConfigMap ns/b"}},
		{"a child that has lost its label is recreated", "Recreate", func(c *cluster) {
			c.RemoveLabels("a")
			c.KubectlApply(newApp(withText("bye"), withChildren("a")))
		}, []string{
			"one Normal SuccessfulDelete: deleted to be recreated: ConfigMap ns/a",
			"one Normal SuccessfulDelete: pruned because no template renders it: ConfigMap ns/b",
		}},
		{"somebody changes a field", "Apply", func(c *cluster) {
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "scaled"} })
		}, []string{"one Normal DriftCorrected: reverted changes by another client: ConfigMap ns/a .data.text"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, withStrategy(t, row.strategy), app)
			row.change(c)
			c.Settle()
			got := slices.Sorted(slices.Values(c.Events))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPersistentFailureEventIsRepeated(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, withStatus(t, apps, "count: {{ fail \"no\" }}"), "resyncPeriod: 0s"))
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
		result, _ := c.Reconcile("apps", "one")
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
	if result, _ := c.Reconcile("apps", "one"); result.After != 0 {
		t.Errorf("looks again after %s though all is well", result.After)
	}
}

func TestRecurringProblemIsRecordedAgain(t *testing.T) {
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
