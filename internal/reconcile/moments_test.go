package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// expiring has ConfigMaps until an hour after spec.text, without any resync.
func expiring(t *testing.T) string {
	t.Helper()
	return with(t, apps, "  watch:", "  resyncPeriod: 0s\n  watch:", "range .spec.names }}", `if not (after "1h" .spec.text) }}{{ range .spec.names }}`, "{{ end }}", "{{ end }}{{ end }}")
}

// startOf returns the time of the test's clock, in RFC 3339.
func startOf(c *cluster) string { return c.Clock.Now().UTC().Format(time.RFC3339) }

// expiringApp returns a parent with a ConfigMap of the same name, which expires an hour from now.
func expiringApp(c *cluster, name string) string {
	return newApp(reconciletest.WithName(name), withChildren(name), withText(`"`+startOf(c)+`"`))
}

// expiringIn returns a cluster whose parent has a ConfigMap for one more hour.
func expiringIn(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(manifest)
	c.KubectlApply(expiringApp(c, "one"))
	c.Run()
	c.Deliver()
	wantRequests(t, "before the moment", c.Run())
	return c
}

var keyOfOne = queue.Key{Controller: "apps", Parent: configMapName("one")}

func TestAfterReconcilesAtMoment(t *testing.T) {
	c := expiringIn(t, expiring(t))
	if wait := c.ParentQueue.Wait(keyOfOne); wait != time.Hour || c.ParentQueue.Delayed() != 1 {
		t.Errorf("the parent is reconciled again in %v, want 1h", wait)
	}
	c.Advance(time.Hour - time.Second)
	wantRequests(t, "a second before", c.Run())
	wantRequests(t, "a reconciliation before", c.ReconcileOne())
	c.Advance(time.Second)
	wantRequests(t, "at the moment", c.Run(), reconciletest.ReadParent, "delete configmaps one", "status apps one")
	c.Deliver()
	wantRequests(t, "once the ConfigMap is deleted", c.Run(), "status apps one")
	c.Deliver()
	wantRequests(t, "afterwards", c.Run())
	if n := c.ParentQueue.Delayed(); n > 0 {
		t.Errorf("%d keys are delayed afterwards", n)
	}
}

// After a restart, the moment counts as before. One that is over is confirmed once for all parents.
func TestAfterIsConfirmedAfterRestart(t *testing.T) {
	c := expiringIn(t, expiring(t))
	c.KubectlApply(expiringApp(c, "two"))
	c.Run()
	c.Deliver()
	c.ParentQueue.Drop()
	c.Advance(time.Hour / 2)
	c.start()
	wantRequests(t, "a restart before the moment", c.Run())
	if wait := c.ParentQueue.Wait(keyOfOne); wait != time.Hour/2 {
		t.Errorf("the parent is reconciled again in %v, want 30m", wait)
	}
	c.ParentQueue.Drop()
	c.Advance(time.Hour)
	c.start()
	reads := 0
	for _, request := range c.Run() {
		if strings.HasPrefix(request, "get apps") {
			reads++
		}
	}
	if reads != 1 || c.Find("configmaps", "one") != nil || c.Find("configmaps", "two") != nil {
		t.Errorf("%d requests for the time, want 1, and no ConfigMap", reads)
	}
}

// The clock of the operator never decides.
func TestAfterUsesServerClock(t *testing.T) {
	for why, row := range map[string]struct {
		ahead time.Duration
		again time.Duration // after the moment of the operator's clock
	}{
		"the server is behind by a second": {-time.Second, time.Second},
		"the server is far behind":         {-20 * time.Minute, 20 * time.Minute},
	} {
		t.Run(why, func(t *testing.T) {
			c := expiringIn(t, expiring(t))
			c.Ahead = row.ahead
			c.Advance(time.Hour)
			wantRequests(t, "too early", c.Run(), reconciletest.ReadParent)
			if wait := c.ParentQueue.Wait(keyOfOne); wait != row.again {
				t.Errorf("the parent is reconciled again in %v, want %v", wait, row.again)
			}
			c.Advance(row.again)
			wantRequests(t, "at the moment", c.Run(), reconciletest.ReadParent, "delete configmaps one", "status apps one")
		})
	}
}

func TestAfterNeedsTimeOfServer(t *testing.T) {
	for why, row := range map[string]struct {
		fail    func(c *cluster)
		mend    func(c *cluster)
		message string
	}{
		"no Date":   {func(c *cluster) { c.Dateless = true }, func(c *cluster) { c.Dateless = false }, "the function after has no effect: responses of the API server have no Date header; check for a proxy that removes it"},
		"no answer": {func(c *cluster) { c.Refuse[reconciletest.ReadParent] = errors.New("no answer") }, func(c *cluster) { clear(c.Refuse) }, "cannot read the time of the API server, which the function after needs: "},
	} {
		t.Run(why, func(t *testing.T) {
			c := expiringIn(t, expiring(t))
			row.fail(c)
			c.Advance(time.Hour)
			wantRequests(t, "without the time", c.Run(), reconciletest.ReadParent, "status apps one")
			if got := c.Condition("apps", "one", "Ready"); !strings.Contains(got, row.message) {
				t.Errorf("the condition is %q, want %q", got, row.message)
			}
			row.mend(c)
			c.Settle()
			if c.Find("configmaps", "one") != nil {
				t.Error("the ConfigMap is kept once the time is known")
			}
		})
	}
}

// The function works in the status template and in readyWhen, too.
func TestAfterInStatusAndReadyWhen(t *testing.T) {
	late := func(c *cluster) {
		c.Advance(time.Hour)
		c.Settle()
	}
	t.Run("status", func(t *testing.T) {
		c := expiringIn(t, with(t, apps, "  watch:", "  resyncPeriod: 0s\n  watch:", "count: {{ len .children.maps }}", `late: {{ after "1h" .spec.text }}`))
		c.Advance(time.Hour)
		wantRequests(t, "at the moment", c.Run(), reconciletest.ReadParent, "status apps one")
		if got := c.StatusOf("one")["late"]; got != true {
			t.Errorf("late is %v", got)
		}
	})
	t.Run("readyWhen", func(t *testing.T) {
		c := expiringIn(t, with(t, apps, "  watch:", "  resyncPeriod: 0s\n  watch:", "- name: maps", "- name: maps\n    readyWhen: after \"1h\" .object.data.text"))
		if got := c.Condition("apps", "one", "Ready"); strings.HasPrefix(got, "True") {
			t.Errorf("before: %s", got)
		}
		late(c)
		if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True") {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// A later time replaces the moment: the earlier one causes a reconciliation, but no request.
func TestAfterFollowsItsTime(t *testing.T) {
	c := expiringIn(t, expiring(t))
	later := c.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.Object["spec"].(map[string]any)["text"] = later
	})
	c.Run()
	c.Deliver()
	c.Advance(time.Hour)
	wantRequests(t, "at the earlier moment", c.Run())
	c.Advance(time.Hour)
	if c.Run(); c.Find("configmaps", "one") != nil {
		t.Error("the ConfigMap is kept after the later moment")
	}
}

// A moment costs one delayed key, even if a template asks for many.
func TestMomentCostsOneKey(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, expiring(t), "      {{ if", `      {{ range until 100 }}{{ $_ := after "2h" $.spec.text }}{{ end }}`+"\n      {{ if"))
	for _, name := range []string{"one", "two", "three"} {
		c.KubectlApply(expiringApp(c, name))
	}
	c.Run()
	if n := c.ParentQueue.Delayed(); n != 3 {
		t.Errorf("%d delayed keys, want 3", n)
	}
}
