package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// kindsOfChildren are the kinds that greedyApps creates.
var kindsOfChildren = []string{"v1 ConfigMap", "v1 Pod", "batch/v1 Job", "example.org/v1 Gadget"}

// greedyApps returns a TemplateController created in that minute, with a service account in namespace team. It reads
// its parents in ns and in 7 namespaces that do not exist, and creates children of that many kinds.
func greedyApps(name string, minute, kinds int) string {
	var namespaces []string
	for i := range 7 {
		namespaces = append(namespaces, fmt.Sprint("absent-", i))
	}
	text := fmt.Sprintf(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: %s, creationTimestamp: "2026-01-01T00:%02d:00Z"}
spec:
  serviceAccountRef: {namespace: team, name: %s}
  watch: {apiVersion: example.org/v1, kind: App, namespaces: [%s, ns]}
  children:`, name, minute, name, strings.Join(namespaces, ", "))
	for i, kind := range kindsOfChildren[:kinds] {
		version, kind, _ := strings.Cut(kind, " ")
		text += fmt.Sprintf("\n  - name: e%d\n    template: |\n      {apiVersion: %s, kind: %s, metadata: {name: %s-%d}}", i, version, kind, name, i)
	}
	return text + "\n"
}

// maxInTest is the watch limit of a tenant in these tests: enough for seven kinds in eight namespaces, plus the
// parents there.
const maxInTest = 64

// smallTenants returns a cluster with a low watch limit per tenant.
func smallTenants(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.controllers.watchShares.Most = maxInTest
	c.KubectlApply(app)
	return c
}

// restart starts a new operator.
func (c *cluster) restart() {
	c.start()
	c.controllers.watchShares.Most = maxInTest
}

// watchesOf returns the number of watches of these TemplateControllers.
func (c *cluster) watchesOf(names ...string) int {
	all := map[watch.Want]bool{}
	for _, name := range names {
		for _, want := range c.Owned[name] {
			all[want] = true
		}
	}
	return len(all)
}

// turnKinds adds child kinds, one after the other, and returns the requests.
func (c *cluster) turnKinds() []string {
	var out []string
	for range 4 {
		out = append(out, c.Run()...)
		c.Deliver()
		c.Advance(11 * time.Second) // so that retries are due
	}
	return out
}

func TestChildKindsBeyondWatchLimitAreNotWatched(t *testing.T) {
	c := smallTenants(t)
	c.KubectlApply(greedyApps("older", 1, 3))
	c.turnKinds()
	c.KubectlApply(greedyApps("apps", 2, 4))
	c.KubectlApply(strings.ReplaceAll(greedyApps("neighbor", 3, 4), "namespace: team", "namespace: other"))
	c.turnKinds()
	const unwatched = "False TooManyWatches: children of kind Pod are not watched: the tenant (all TemplateControllers whose service account is in the same namespace) has reached its watch limit: list fewer namespaces"
	expect := func(when string) {
		t.Helper()
		if n, neighbor := c.watchesOf("older", "apps"), c.watchesOf("neighbor"); n != maxInTest || neighbor != 5*8 {
			t.Errorf("%s: the tenant has %d watches, its neighbor %d; want %d and %d", when, n, neighbor, maxInTest, 5*8)
		}
		if got := c.Condition("templatecontrollers", "apps", "Watching"); !strings.HasPrefix(got, unwatched) {
			t.Errorf("%s: condition %s", when, got)
		}
		for _, name := range []string{"older", "neighbor"} {
			if got := c.Condition("templatecontrollers", name, "Watching"); got != "True Watching: all kinds are watched" {
				t.Errorf("%s: condition of %s: %s", when, name, got)
			}
		}
	}
	expect("the kinds of the templates are known")
	if c.Find("configmaps", "apps-0") == nil || c.Find("jobs", "apps-2") == nil || c.Find("gadgets", "apps-3") == nil {
		t.Error("children of kinds that there is room for are missing")
	}
	if c.Find("pods", "apps-1") != nil {
		t.Error("a child was created that nobody watches")
	}
	c.restart()
	c.turnKinds()
	expect("after a restart")
	c.RemoveNow(request.Location{Resource: v1.Resource, Name: "older"})
	c.turnKinds()
	if got := c.Condition("templatecontrollers", "apps", "Watching"); got != "True Watching: all kinds are watched" || c.Find("pods", "apps-1") == nil {
		t.Errorf("there is room again: condition %s, child %v", got, c.Find("pods", "apps-1"))
	}
}

// full returns a cluster in which the tenant team has a single watch left.
func full(t *testing.T) *cluster {
	t.Helper()
	c := smallTenants(t)
	c.KubectlApply(greedyApps("first", 1, 4))
	c.KubectlApply(with(t, greedyApps("second", 2, 2), "absent-0, ", ""))
	c.turnKinds()
	if n := c.watchesOf("first", "second"); n != maxInTest-3 {
		t.Fatalf("%d watches, want %d", n, maxInTest-3)
	}
	return c
}

const noRoom = "False TooManyWatches: needs 8 watches (one per kind and namespace), which exceeds what is left"

func TestTemplateControllerBeyondWatchLimitIsRejected(t *testing.T) {
	c := full(t)
	c.KubectlApply(greedyApps("apps", 3, 1))
	requests := c.turnKinds()
	expect := func(when string) {
		t.Helper()
		if got := c.Condition("templatecontrollers", "apps", "Accepted"); !strings.HasPrefix(got, noRoom) || c.watchesOf("apps") > 0 {
			t.Errorf("%s: it has %d watches, and the %s condition", when, c.watchesOf("apps"), got)
		}
	}
	expect("it is new")
	wantRequests(t, "it is new", append([]string{}, requests...))
	for range 10 { // a new operator reads the TemplateControllers in a different order each time
		c.restart()
		c.turnKinds()
		expect("after a restart")
	}
	c.RemoveNow(request.Location{Resource: v1.Resource, Name: "first"})
	c.turnKinds()
	if got := c.Condition("templatecontrollers", "apps", "Ready"); !strings.HasPrefix(got, "True ") || c.Find("configmaps", "apps-0") == nil {
		t.Errorf("there is room again: condition %s", got)
	}
}

// TestWatchLimitRejectionKeepsChildren edits a working TemplateController so that it exceeds the watch limit.
func TestWatchLimitRejectionKeepsChildren(t *testing.T) {
	narrow := with(t, greedyApps("apps", 3, 1), "namespaces: [", "namespaces: [ns]} #")
	for why, row := range map[string]struct {
		restart, deleted bool
	}{
		"and back":                                 {},
		"and back after a restart":                 {restart: true},
		"and deletes it, then edits it back":       {deleted: true},
		"and deletes it after a restart, likewise": {restart: true, deleted: true},
	} {
		t.Run(why, func(t *testing.T) {
			c := full(t)
			text := with(t, narrow, "  children:", "  whenDeleted: DeleteChildren\n  children:")
			c.KubectlApply(text)
			c.turnKinds()
			wide := with(t, greedyApps("apps", 3, 1), "  children:", "  whenDeleted: DeleteChildren\n  children:")
			c.KubectlApply(wide)
			requests := c.turnKinds()
			if row.restart {
				c.restart()
				requests = append(requests, c.turnKinds()...)
			}
			if row.deleted {
				c.startDeletion()
				requests = append(requests, c.turnKinds()...)
				if got := c.Condition("templatecontrollers", "apps", "Ready"); !strings.Contains(got, "TooManyWatches: being deleted: waiting to list its children: children of kind ConfigMap are not watched") {
					t.Errorf("condition %s", got)
				}
			}
			if slices.ContainsFunc(requests, func(r string) bool { return !strings.Contains(r, " status ") && !strings.HasPrefix(r, "status ") }) || c.Find("configmaps", "apps-0") == nil {
				t.Errorf("requests %q", requests)
			}
			c.KubectlApply(text)
			c.turnKinds()
			switch child := c.Find("configmaps", "apps-0"); {
			case row.deleted && (child != nil || c.Find("templatecontrollers", "apps") != nil):
				t.Errorf("it was deleted, and is there: %v", child)
			case !row.deleted && !strings.HasPrefix(c.Condition("templatecontrollers", "apps", "Ready"), "True "):
				t.Errorf("condition %s", c.Condition("templatecontrollers", "apps", "Ready"))
			}
		})
	}
}
