package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// The limit of queue.Breaker.
const loopBurst = 60

const loopRefill = 5 * time.Second

const loopPause = 30 * time.Second

func TestLoopIsThrottledAndReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	for range loopBurst {
		c.RemoveNow(configMap("a"))
		c.Run()
	}
	c.RemoveNow(configMap("a"))
	wantRequests(t, "too often", c.Run())
	result, _ := c.Reconcile("apps", "one")
	if result.After <= 0 || result.After > loopPause {
		t.Errorf("looks again after %v, want at most %v", result.After, loopPause)
	}
	c.Clock.SetTime(c.Clock.Now().Add(loopPause))
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "after the pause", requests, "create configmaps a", "status apps one")
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False LoopDetected: backing off: another client keeps changing ConfigMap ns/a: ") {
		t.Errorf("ready condition is %q", got)
	}
	c.Clock.SetTime(c.Clock.Now().Add(10 * time.Minute))
	c.Reconcile("apps", "one")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition after it recovered is %q, want %q", got, want)
	}
}

func TestRestartResetsLoopDetection(t *testing.T) {
	c := begun(t, apps, app)
	for range loopBurst {
		c.RemoveNow(configMap("a"))
		c.Run()
	}
	c.RemoveNow(configMap("a"))
	wantRequests(t, "too often", c.Run())
	c.start()
	wantRequests(t, "after a restart", c.Run(), "create configmaps a")
}

func TestLoopMessageNamesContestedField(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	for range loopBurst + 1 {
		fields := memserver.Usual.Held(c.Find("configmaps", "a").Object, "")
		delete(fields, "f:data")
		c.impersonate("a", "theirs", fields)
		c.Run()
	}
	c.Clock.SetTime(c.Clock.Now().Add(loopPause))
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "False LoopDetected: backing off: another client keeps changing ConfigMap ns/a .data.text: "; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition is %q, want %q", got, want)
	}
}

// TestLoopMessageNamesTemplateAnnotations has annotations in spec.values, so that no template contains their keys.
func TestLoopMessageNamesTemplateAnnotations(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, with(t, apps, "metadata: {name: {{ . }}}", "metadata: {name: {{ . }}, annotations: {{ toJson $.values.annotations }}}"),
		"  children:", "  values: {annotations: {example.org/team: sales}}\n  children:"))
	c.KubectlApply(app)
	c.Run()
	for range loopBurst + 1 {
		fields := memserver.Usual.Held(c.Find("configmaps", "a").Object, "")
		delete(fields["f:metadata"].(map[string]any)["f:annotations"].(map[string]any), "f:example.org/team")
		c.impersonate("a", "theirs", fields)
		c.Run()
	}
	c.Clock.SetTime(c.Clock.Now().Add(loopPause))
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "False LoopDetected: backing off: another client keeps changing ConfigMap ns/a .metadata.annotations.example.org/team: "; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition is %q, want %q", got, want)
	}
}

func TestFrequentChildChangesAreNotReportedAsLoop(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStatus(t, apps, "count: {{ (first .children.maps).data.seen | default 0 }}"))
	c.KubectlApply(app)
	c.Run()
	for i := range 3 * loopBurst {
		o := c.Find("configmaps", "a").DeepCopy()
		o.Object["data"].(map[string]any)["seen"] = int64(i + 1)
		c.Store(configMap("a"), o)
		c.Deliver()
		wantRequests(t, "a child changed by itself", c.Run(), "status apps one")
	}
}

func TestFlappingStatusIsReportedAsLoop(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Clock.SetTime(c.Clock.Now().Add(2 * loopRefill)) // earlier writes no longer count
	writes := 0
	for range 2 * loopBurst {
		o := c.Find("apps", "one").DeepCopy()
		o.Object["status"].(map[string]any)["count"] = int64(7)
		c.Store(locationOf(o), o)
		c.Deliver()
		writes += len(c.Run())
	}
	if writes > loopBurst+1 {
		t.Errorf("%d status writes against another writer, want at most %d", writes, loopBurst+1)
	}
}

// Kinds such as ConfigMap have no generation that changes with an edit.
func TestEditEndsLoopWithoutGeneration(t *testing.T) {
	for why, row := range map[string]struct {
		edit func(*unstructured.Unstructured)
		want []string
	}{
		"what users write":  {func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"size": "2"} }, []string{"create configmaps a"}},
		"what others write": {func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"example.org/seen": "now"}) }, nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, apps[:strings.Index(apps, "  status:")], "apiVersion: example.org/v1, kind: App", "apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {a: parent}}", "{{ range .spec.names }}", "", "{name: {{ . }}}", "{name: a}", "$.spec.text", ".parent.data.size", "      {{ end }}\n", ""))
			c.KubectlApply("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: one, labels: {a: parent}}, data: {size: '1'}}")
			wantRequests(t, "at first", c.Run(), "create configmaps a")
			for range loopBurst {
				c.RemoveNow(configMap("a"))
				c.Run()
			}
			c.RemoveNow(configMap("a"))
			wantRequests(t, "too often", c.Run())
			c.KubectlEdit(configMap("one"), row.edit)
			wantRequests(t, "after the edit", c.Run(), row.want...)
		})
	}
}

func TestKeyWithoutWritesDoesNotWait(t *testing.T) {
	c := newCluster(t)
	if wait := c.shared.Breaker.Wait(reconciletest.KeyOf("a", "1"), queue.Generations{}); wait != 0 {
		t.Errorf("waits for %v", wait)
	}
}
