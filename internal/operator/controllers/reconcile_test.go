package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
)

const app = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a, b], text: hello}
`

// apps makes a ConfigMap for each of spec.names.
const apps = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: maps
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
  status:
    template: |
      count: {{ len .children.maps }}
`

func wantRequests(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}

func TestSuspendStopsEverything(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	suspended := with(t, apps, "spec:\n", "spec:\n  suspend: true\n")
	c.apply(suspended)
	c.apply(with(t, app, "hello", "bye"))
	c.gone(configMap("a"))
	wantRequests(t, "suspended", c.run())
	if got, want := c.condition("templatecontrollers", "apps", "Ready"), "False Suspended: spec.suspend is true: nothing is created, changed or deleted"; got != want {
		t.Errorf("TemplateController's ready condition %q, want %q", got, want)
	}
	c.apply(apps)
	wantRequests(t, "resumed", c.run(), "create configmaps a", "update configmaps b", "status apps one")
}

func TestKindThatMayNotBeListedStopsPruning(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.start()
	children := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}
	c.silent[children] = true
	c.apply(with(t, app, "[a, b]", "[a]"))
	wantRequests(t, "while the children are read", c.run())
	if got, want := c.condition("templatecontrollers", "apps", "Watching"), "False Syncing: reading configmaps"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	delete(c.silent, children)
	c.sync(children)
	wantRequests(t, "when they are read", c.run(), "delete configmaps b", "status apps one")
}
