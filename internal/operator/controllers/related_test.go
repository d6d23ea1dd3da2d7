package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// readers makes a ConfigMap for each App, which lists the Jobs that the App selects.
const readers = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - name: jobs
    apiVersion: batch/v1
    kind: Job
    select: |
      name: {{ .spec.job }}
  children:
  - name: maps
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ .metadata.name }}}
      data:
        jobs: {{ .related.jobs | collect "metadata.name" | join "," }}
        note: {{ .related.jobs | collect "spec.note" | join "," }}
  status:
    template: |
      jobs: {{ len .related.jobs }}
`

// reader is an App in a namespace, with this spec.
func reader(namespace, name, spec string) string {
	return fmt.Sprintf("{apiVersion: example.org/v1, kind: App, metadata: {namespace: %s, name: %s}, spec: %s}", namespace, name, spec)
}

// job is a Job with these labels and this spec.
func job(namespace, name, labels, spec string) string {
	return fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, name: %s, labels: %s}, spec: %s}", namespace, name, labels, spec)
}

// jobsOf returns what the ConfigMap of a parent says.
func (c *cluster) jobsOf(name string) string {
	o := c.get("configmaps", name)
	if o == nil {
		return "no ConfigMap"
	}
	data, _ := o.Object["data"].(map[string]any)
	return fmt.Sprintf("%v: %v", data["jobs"], data["note"])
}

// relatedJobs is what is watched of Jobs in all namespaces.
var relatedJobs = watch.Want{Resource: fakeKinds[batchJob].Resource, Role: watch.Related}

// batchJob is the kind of the related objects.
var batchJob = schema.GroupKind{Group: "batch", Kind: "Job"}

var forbidden = answer(http.StatusForbidden, metav1.StatusReasonForbidden, `jobs.batch is forbidden: User "system:serviceaccount:templater-system:templater" cannot list resource "jobs" in API group "batch" at the cluster scope`)

// TestRelatedObjectsThatCannotBeRead holds parents back, unless the entry is optional.
func TestRelatedObjectsThatCannotBeRead(t *testing.T) {
	missing := func(c *cluster) { c.refuse["kind Job"] = &kind.NotFoundError{GVK: batchJob.WithVersion("v1")} }
	denied := func(c *cluster) {
		c.silent[relatedJobs] = true
		c.run()
		c.caches[relatedJobs].Fail(forbidden)
	}
	fails := func(c *cluster) {
		c.silent[relatedJobs] = true
		c.run()
		c.caches[relatedJobs].Fail(errors.New("no answer"))
	}
	const told = "False RelatedUnreadable: templater cannot read related[jobs]: see the condition Watching of TemplateController apps; until then, nothing is changed"
	for why, row := range map[string]struct {
		spoil, mend     func(*cluster)
		watching, aside string // no aside = an optional entry is no exception
	}{
		"the kind is missing": {
			missing, func(c *cluster) { delete(c.refuse, "kind Job"); c.controllers.kindChanged(batchJob) },
			"False KindNotFound: spec.related[jobs]: the cluster does not serve kind Job in batch/v1: install it, correct the entry, or make it optional; until then, children are left unchanged",
			"related[jobs]: the cluster does not serve kind Job in batch/v1",
		},
		"the server does not tell": {
			func(c *cluster) { c.refuse["kind Job"] = errors.New("no answer") },
			func(c *cluster) { delete(c.refuse, "kind Job"); c.controllers.kindChanged(batchJob) },
			"False ListFailed: spec.related[jobs]: API discovery failed: the API server did not respond; until then, children are left unchanged",
			"",
		},
		"its own server is away": {
			func(c *cluster) {
				c.refuse["kind Job"] = &kind.NotFoundError{GVK: batchJob.WithVersion("v1"), Away: true}
			},
			func(c *cluster) { delete(c.refuse, "kind Job"); c.controllers.kindChanged(batchJob) },
			"False KindNotFound: spec.related[jobs]: the cluster does not serve kind Job in batch/v1 at the moment: check its APIService (kubectl get apiservices); until then, children are left unchanged",
			"",
		},
		"the first list fails": {
			fails, func(c *cluster) { delete(c.silent, relatedJobs); c.sync(relatedJobs) },
			"False ListFailed: cannot list or watch jobs.batch: the API server did not respond; until then, nothing is deleted",
			"",
		},
		"a right is missing": {
			denied, func(c *cluster) { delete(c.silent, relatedJobs); c.sync(relatedJobs) },
			`False Forbidden: templater is not allowed to list jobs.batch in all namespaces: add {apiGroups: [batch], resources: [jobs], verbs: [list]} to a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true"; until then, nothing is deleted`,
			`templater is not allowed to list jobs.batch in all namespaces: add {apiGroups: [batch], resources: [jobs], verbs: [list]} to a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
	} {
		for _, optional := range []bool{false, true} {
			c := newCluster(t)
			c.apply(with(t, readers, "    kind: Job\n", fmt.Sprintf("    kind: Job\n    optional: %v\n", optional)))
			c.apply(reader("ns", "one", "{job: a}"))
			c.apply(job("ns", "a", "{}", "{note: x}"))
			row.spoil(c)
			c.run()
			watching, ready, says := row.watching, told, "no ConfigMap"
			if optional && row.aside != "" {
				watching, ready, says = "True Watching: all kinds are watched; optional related objects that cannot be read: "+row.aside, "True Ready: all children are ready: 1", ": "
			}
			if got := c.condition("templatecontrollers", "apps", "Watching"); got != watching {
				t.Errorf("%s, optional is %v: condition Watching\n%s\nwant\n%s", why, optional, got, watching)
			}
			if got := c.condition("apps", "one", "Ready"); got != ready {
				t.Errorf("%s, optional is %v: ready condition\n%s\nwant\n%s", why, optional, got, ready)
			}
			if got := c.jobsOf("one"); got != says {
				t.Errorf("%s, optional is %v: the child says %q, want %q", why, optional, got, says)
			}
			c.deliver()
			wantRequests(t, why+", again", c.run())
			row.mend(c)
			c.run()
			if got := c.jobsOf("one"); got != "a: x" {
				t.Errorf("%s, optional is %v, and it is mended: the child says %q", why, optional, got)
			}
			if got := c.condition("templatecontrollers", "apps", "Watching"); got != "True Watching: all kinds are watched" {
				t.Errorf("%s, and it is mended: condition Watching is %q", why, got)
			}
		}
	}
}

// TestEntriesThatFitNoKind are rejected.
func TestEntriesThatFitNoKind(t *testing.T) {
	for _, row := range []struct{ to, want string }{
		{"apiVersion: v1\n    kind: Namespace\n    namespaces: [a]", "False InvalidSpec: spec.related[jobs]: Namespace is cluster-scoped: remove namespaces and namespaceSelector"},
		{"apiVersion: v1\n    kind: Namespace\n    namespaceSelector: {}", "False InvalidSpec: spec.related[jobs]: Namespace is cluster-scoped: remove namespaces and namespaceSelector"},
	} {
		c := newCluster(t)
		c.apply(with(t, readers, "apiVersion: batch/v1\n    kind: Job", row.to))
		c.apply(reader("ns", "one", "{job: a}"))
		wantRequests(t, row.to, c.run(), "status apps one")
		if got := c.condition("templatecontrollers", "apps", "Accepted"); got != row.want {
			t.Errorf("%s: condition Accepted\n%s\nwant\n%s", row.to, got, row.want)
		}
	}
}

// TestAParentGoesThoughWhatItIsRelatedToCannotBeRead has its children go first, which needs no template.
func TestAParentGoesThoughWhatItIsRelatedToCannotBeRead(t *testing.T) {
	for why, readable := range map[string]bool{"it can be read": true, "it cannot": false} {
		c := newCluster(t)
		c.apply(with(t, readers, "spec:\n", "spec:\n  finalize: {order: Reverse}\n"))
		c.apply(reader("ns", "one", "{job: a}"))
		c.apply(job("ns", "a", "{}", "{note: x}"))
		c.settle()
		if !readable {
			c.refuse["kind Job"] = &kind.NotFoundError{GVK: batchJob.WithVersion("v1")}
			c.controllers.kindChanged(batchJob)
			c.settle()
		}
		during := ""
		c.during = func() {
			if o := c.get("apps", "one"); o != nil {
				status, _ := o.Object["status"].(map[string]any)
				during += fmt.Sprint(status["jobs"])
			}
		}
		c.End(locationOf(parse(t, reader("ns", "one", "{}"))), metav1.DeletePropagationBackground)
		c.deliver()
		c.settle()
		if c.get("apps", "one") != nil || c.get("configmaps", "one") != nil {
			t.Errorf("%s: the parent is left, or its child", why)
		}
		if during == "" || strings.Trim(during, "1") != "" {
			t.Errorf("%s: status.jobs is %q on the way, want what it was", why, during)
		}
	}
}

// TestAWithdrawnPermissionHidesRelatedObjects withdraws it after the objects were read once.
func TestAWithdrawnPermissionHidesRelatedObjects(t *testing.T) {
	for why, optional := range map[string]bool{"the entry is needed": false, "the entry is optional": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(with(t, readers, "    kind: Job\n", fmt.Sprintf("    kind: Job\n    optional: %v\n", optional)))
			c.apply(job("ns", "a", "{}", "{note: s3cr3t}"))
			c.apply(reader("ns", "one", "{job: a}"))
			c.run()
			if got := c.jobsOf("one"); !strings.Contains(got, "s3cr3t") {
				t.Fatalf("the child has %s", got)
			}
			c.caches[relatedJobs].FailWatch(forbidden)
			before := len(c.requests)
			c.apply(reader("ns", "two", "{job: a}"))
			c.run()
			if got := c.jobsOf("two"); strings.Contains(got, "s3cr3t") {
				t.Errorf("a new child has %s", got)
			}
			for _, request := range c.requests[before:] {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("%s while the permission is missing", request)
				}
			}
			if optional {
				return
			}
			if got := c.condition("apps", "two", "Ready"); !strings.HasPrefix(got, "False RelatedUnreadable") {
				t.Errorf("ready condition of a new parent %q", got)
			}
			if got := c.condition("templatecontrollers", "apps", "Watching"); !strings.HasPrefix(got, "False Forbidden") || !strings.Contains(got, "list") {
				t.Errorf("condition Watching %q", got)
			}
			if got := c.jobsOf("one"); !strings.Contains(got, "s3cr3t") {
				t.Errorf("the child from before has %s", got)
			}
			c.caches[relatedJobs].Watching()
			c.sync(relatedJobs)
			c.run()
			if got := c.jobsOf("two"); !strings.Contains(got, "s3cr3t") {
				t.Errorf("after the permission is granted again, the new child has %s", got)
			}
		})
	}
}

// TestSelectionsOfATenantAreBounded has two TemplateControllers of one tenant, of which one takes all the room, and one of another tenant.
func TestSelectionsOfATenantAreBounded(t *testing.T) {
	c := newCluster(t)
	c.controllers.selections = related.NewMemory(120)
	of := func(name, tenant, edited string) string {
		return with(t, readers, "name: apps}", "name: "+name+"}", "spec:\n  watch:", "spec:\n  serviceAccountRef: {namespace: "+tenant+", name: deployer}\n  watch:",
			"kind: App}", "kind: App, namespaces: ["+name+"]}", "  status:\n    template: |\n      jobs: {{ len .related.jobs }}\n", edited)
	}
	expect := func(when, want string) {
		t.Helper()
		c.settle()
		var have []string
		for _, name := range []string{"a", "b", "other"} {
			if c.Objects[request.Location{Resource: configMap("").Resource, Namespace: name, Name: name}] != nil {
				have = append(have, name)
			} else if got := c.condition("apps", name, "Ready"); !strings.HasPrefix(got, "False TemplateError: related[jobs].select: the selection takes ") {
				t.Errorf("%s: %s is %s", when, name, got)
			}
		}
		if got := strings.Join(have, " "); got != want {
			t.Errorf("%s: children are in %s, want %s", when, got, want)
		}
	}
	for _, name := range []string{"a", "b", "other"} {
		c.apply(reader(name, name, "{job: x}"))
	}
	c.apply(of("a", "team", ""))
	c.settle()
	c.apply(of("b", "team", ""))
	c.apply(of("other", "neighbours", ""))
	expect("one takes all", "a other")
	c.apply(of("a", "team", "  resyncPeriod: 1h\n"))
	expect("it is edited", "a other")
	c.gone(request.Location{Resource: v1.Resource, Name: "a"})
	expect("it is deleted", "a b other")
}
