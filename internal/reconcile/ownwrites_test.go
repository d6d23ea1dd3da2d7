package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// machine changes its own status from A to D, and has a child only in D.
const machine = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  resyncPeriod: 0s
  children:
  - name: maps
    template: |
      {{ if eq .status.phase "D" }}
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: last}
      {{ end }}
  status:
    template: |
      phase: {{ index (dict "A" "B" "B" "C" "C" "D" "D" "D") (.status.phase | default "A") }}
`

func TestSelfReadingStatusConverges(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(machine)
	c.KubectlApply(app)
	wantRequests(t, "from A to D", c.Run(), "status apps one", "status apps one", "status apps one", "create configmaps last", "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 1"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.Deliver()
	wantRequests(t, "at the end", c.Run())
}

func TestMutuallyDependentChildrenAreAllCreated(t *testing.T) {
	c := newCluster(t)
	entry := func(name, when string) string {
		return "  - name: " + name + "\n    template: |\n      {{ if " + when + " }}\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: " + name + "}\n      {{ end }}\n"
	}
	children := entry("c", "and .observed.b (not .spec.few)") + entry("b", ".observed.a") + entry("a", "true")
	c.KubectlApply(with(t, withSpec(t, apps, "resyncPeriod: 0s"), apps[strings.Index(apps, "  - name: maps"):], children))
	c.KubectlApply(app)
	wantRequests(t, "all", c.Run(), "create configmaps a", "status apps one", "create configmaps b", "status apps one", "create configmaps c", "status apps one")
	wantRequests(t, "and no more", c.Run())
	c.KubectlApply(with(t, app, "spec: {", "spec: {few: true, "))
	wantRequests(t, "one goes", c.Run(), "delete configmaps c", "status apps one")
}

func TestOnlyVisibleWritesTriggerAnotherReconciliation(t *testing.T) {
	const status = "      count: {{ len .children.maps }}\n"
	for why, row := range map[string]struct {
		template []string // replacements in apps
		want     bool
	}{
		"nothing is read":                                           {nil, false},
		"the status template reads the status":                      {[]string{status, "      count: {{ .status.count | default 1 }}\n"}, true},
		"a child's template reads the status":                       {[]string{"{{ $.spec.text }}", "{{ $.spec.text | default $.status.text }}"}, true},
		"a child's template reads children":                         {[]string{"{{ $.spec.text }}", "{{ $.spec.text | default (len $.observed.maps) }}"}, true},
		"the status template reads children of this reconciliation": {[]string{status, "      count: {{ len .observed.maps }}\n"}, false},
		"the spec is read where another has a status, too":          {[]string{"{{ $.spec.text }}", "{{ $.parent.spec.text }}"}, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, apps, row.template...))
			c.Run()
			c.ParentQueue.ShutDown() // each reconciliation is started manually
			c.KubectlApply(app)
			for _, pass := range []struct {
				what  string
				again bool
			}{{"kinds get known", false}, {"everything is written", row.want}, {"nothing is", false}} {
				result, requests := c.Reconcile("apps", "one")
				c.ControllerQueue.Add("apps")
				c.RunControllers()
				if result.Again != pass.again {
					t.Errorf("%s: again is %v, want %v; requests %v", pass.what, result.Again, pass.again, requests)
				}
			}
		})
	}
}

func TestStatusTakeoverTriggersNoReconciliation(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "      count: {{ len .children.maps }}\n", "      count: {{ .status.count | default 2 }}\n"))
	c.KubectlApply(app)
	c.Run()
	o := c.Find("apps", "one").DeepCopy() // as after an operator with another name: everything exists, and this operator owns nothing
	o.SetManagedFields(nil)
	c.Store(locationOf(o), o)
	c.Deliver()
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "nothing is ours", requests, "status apps one")
	if result.Again {
		t.Error("another look although templates see what they saw")
	}
}

func TestEndlessStatusChangesAreThrottled(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.KubectlApply(with(t, apps, "{{ len .children.maps }}", "{{ add1 (.status.count | default 0) }}"))
	c.KubectlApply(app)
	requests := slices.DeleteFunc(c.Run(), func(r string) bool { return r != "status apps one" })
	if len(requests) != loopBurst+1 {
		t.Errorf("%d writes of the status, want %d", len(requests), loopBurst+1)
	}
	c.Clock.SetTime(c.Clock.Now().Add(loopPause))
	result, _ := c.Reconcile("apps", "one")
	if diff := cmp.Diff(reconcile.Result{Retry: problem.RetrySlow, Outcome: record.Failed, Again: true}, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if got, want := c.Condition("apps", "one", "Ready"), "False LoopDetected: backing off: the templates render different output in every reconciliation for .status.count: do not compute these fields from fields that templater writes"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}
