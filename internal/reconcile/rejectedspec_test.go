package reconcile_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestRejectedSpecIsReportedOnParents(t *testing.T) {
	broken := invalid(t, apps)
	c := begun(t, apps, app)
	c.KubectlApply(broken)
	wantRequests(t, "a broken edit", c.Settle(), "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "False "+reconciletest.NotAccepted; got != want {
		t.Errorf("condition\n%s, want\n%s", got, want)
	}
	if count, _, _ := unstructured.NestedInt64(c.Find("apps", "one").Object, "status", "count"); count != 2 {
		t.Errorf("count %d, want the rest of the status as it was", count)
	}
	wantRequests(t, "a second run", c.Settle())
	c.KubectlApply(with(t, broken, "{{ range .spec.names", "{{ range .spec.name"))
	wantRequests(t, "another broken edit", c.Settle())

	c.PutWithUID(newApp(reconciletest.WithName("two"), withChildren("c")), "uid-two")
	wantRequests(t, "a new parent", c.Settle(), "status apps two")
	if got, want := c.Condition("apps", "two", "Ready"), "False "+reconciletest.NotAccepted; got != want {
		t.Errorf("new parent: condition\n%s, want\n%s", got, want)
	}
	c.start()
	wantRequests(t, "after a restart", c.Settle())
	if len(c.Events) > 0 {
		t.Errorf("Events %q, want none: the condition says it", c.Events)
	}
	c.KubectlApply(apps)
	requests := c.Settle()
	slices.Sort(requests)
	wantRequests(t, "accepted again", requests, "create configmaps c", "status apps one", "status apps two")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("accepted again: condition\n%s, want\n%s", got, want)
	}
}

func TestRejectedSpecIsRecordedWithoutConditions(t *testing.T) {
	plain := with(t, apps, "kind: App", "kind: Statusless", "  status:\n    template: |\n      count: {{ len .children.maps }}\n", "")
	c := newCluster(t)
	c.KubectlApply(invalid(t, plain))
	c.KubectlApply(with(t, app, "kind: App", "kind: Statusless"))
	wantRequests(t, "rejected", c.Run())
	if want := "one Warning " + reconciletest.NotAccepted; len(c.Events) != 1 || c.Events[0] != want {
		t.Errorf("Events %q, want %q once", c.Events, want)
	}
}

func TestRejectedSpecIsNotReportedWhenSuspended(t *testing.T) {
	broken := invalid(t, apps)
	for _, row := range []struct {
		why, spec string
	}{
		{"suspended", withSpec(t, broken, "suspend: true")},
		{"it is not known which objects are the parents", withWatch(t, broken, "labelSelector: {matchLabels: {a: '!'}}")},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, apps, app)
			c.KubectlApply(row.spec)
			wantRequests(t, row.why, c.Settle())
		})
	}
}
