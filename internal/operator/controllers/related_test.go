package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// TestUnreadableRelatedObjectsBlockParents: parents are blocked, unless the entry is optional.
func TestUnreadableRelatedObjectsBlockParents(t *testing.T) {
	missing := func(c *cluster) {
		c.Refuse["kind Job"] = &kind.NotFoundError{GVK: reconciletest.BatchJob.WithVersion("v1")}
	}
	denied := func(c *cluster) {
		c.Silent[reconciletest.RelatedJobs] = true
		c.Run()
		c.Caches[reconciletest.RelatedJobs].Fail(reconciletest.ErrForbidden)
	}
	fails := func(c *cluster) {
		c.Silent[reconciletest.RelatedJobs] = true
		c.Run()
		c.Caches[reconciletest.RelatedJobs].Fail(errors.New("no answer"))
	}
	const told = "False RelatedUnreadable: templater cannot read related[jobs]: see the Watching condition of TemplateController apps; children are left unchanged until this is resolved"
	for why, row := range map[string]struct {
		spoil, mend     func(*cluster)
		watching, aside string // no aside = no exception for an optional entry
	}{
		"the kind is missing": {
			missing, func(c *cluster) { delete(c.Refuse, "kind Job"); c.controllers.kindChanged(reconciletest.BatchJob) },
			"False KindNotFound: spec.related[jobs]: the cluster does not serve kind Job in batch/v1: install it, correct the entry, or make it optional; until then, children are left unchanged",
			"related[jobs]: the cluster does not serve kind Job in batch/v1",
		},
		"the server does not tell": {
			func(c *cluster) { c.Refuse["kind Job"] = errors.New("no answer") },
			func(c *cluster) { delete(c.Refuse, "kind Job"); c.controllers.kindChanged(reconciletest.BatchJob) },
			"False ListFailed: spec.related[jobs]: API discovery failed: the API server did not respond; children are left unchanged until this is resolved",
			"",
		},
		"its own server is away": {
			func(c *cluster) {
				c.Refuse["kind Job"] = &kind.NotFoundError{GVK: reconciletest.BatchJob.WithVersion("v1"), APIServiceUnavailable: true}
			},
			func(c *cluster) { delete(c.Refuse, "kind Job"); c.controllers.kindChanged(reconciletest.BatchJob) },
			"False KindNotFound: spec.related[jobs]: the cluster does not serve kind Job in batch/v1 at the moment: check its APIService (kubectl get apiservices); children are left unchanged until this is resolved",
			"",
		},
		"the first list fails": {
			fails, func(c *cluster) { delete(c.Silent, reconciletest.RelatedJobs); c.List(reconciletest.RelatedJobs) },
			"False ListFailed: cannot list or watch jobs.batch: the API server did not respond; children are kept until this is resolved",
			"",
		},
		"a right is missing": {
			denied, func(c *cluster) { delete(c.Silent, reconciletest.RelatedJobs); c.List(reconciletest.RelatedJobs) },
			`False Forbidden: templater is not allowed to list jobs.batch in all namespaces: add {apiGroups: [batch], resources: [jobs], verbs: [list]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"; children are kept until this is resolved`,
			`templater is not allowed to list jobs.batch in all namespaces: add {apiGroups: [batch], resources: [jobs], verbs: [list]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
	} {
		t.Run(why, func(t *testing.T) {
			for _, optional := range []bool{false, true} {
				c := newCluster(t)
				c.KubectlApply(with(t, reconciletest.Readers, "    kind: Job\n", fmt.Sprintf("    kind: Job\n    optional: %v\n", optional)))
				c.KubectlApply(reconciletest.Reader("ns", "one", "{job: a}"))
				c.KubectlApply(reconciletest.Job("ns", "a", "{}", "{note: x}"))
				row.spoil(c)
				c.Run()
				watching, ready, says := row.watching, told, "no ConfigMap"
				if optional && row.aside != "" {
					watching, ready, says = "True Watching: all kinds are watched; optional related objects that cannot be read: "+row.aside, "True Ready: all children are ready: 1", ": "
				}
				if got := c.Condition("templatecontrollers", "apps", "Watching"); got != watching {
					t.Errorf("%s, optional is %v: condition Watching\n%s\nwant\n%s", why, optional, got, watching)
				}
				if got := c.Condition("apps", "one", "Ready"); got != ready {
					t.Errorf("%s, optional is %v: ready condition\n%s\nwant\n%s", why, optional, got, ready)
				}
				if got := c.JobsOf("one"); got != says {
					t.Errorf("%s, optional is %v: the child says %q, want %q", why, optional, got, says)
				}
				c.Deliver()
				wantRequests(t, why+", again", c.Run())
				row.mend(c)
				c.Run()
				if got := c.JobsOf("one"); got != "a: x" {
					t.Errorf("%s, optional is %v, and it is mended: the child says %q", why, optional, got)
				}
				if got := c.Condition("templatecontrollers", "apps", "Watching"); got != "True Watching: all kinds are watched" {
					t.Errorf("%s, and it is mended: condition Watching is %q", why, got)
				}
			}
		})
	}
}

// TestInvalidRelatedObjectScopeIsRejected are rejected.
func TestInvalidRelatedObjectScopeIsRejected(t *testing.T) {
	for _, row := range []struct{ to, want string }{
		{"apiVersion: v1\n    kind: Namespace\n    namespaces: [a]", "False InvalidSpec: spec.related[jobs]: Namespace is cluster-scoped: remove namespaces and namespaceSelector"},
		{"apiVersion: v1\n    kind: Namespace\n    namespaceSelector: {}", "False InvalidSpec: spec.related[jobs]: Namespace is cluster-scoped: remove namespaces and namespaceSelector"},
	} {
		t.Run(row.to, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, reconciletest.Readers, "apiVersion: batch/v1\n    kind: Job", row.to))
			c.KubectlApply(reconciletest.Reader("ns", "one", "{job: a}"))
			wantRequests(t, row.to, c.Run(), "status apps one")
			if got := c.Condition("templatecontrollers", "apps", "Accepted"); got != row.want {
				t.Errorf("%s: condition Accepted\n%s\nwant\n%s", row.to, got, row.want)
			}
		})
	}
}

// TestParentDeletionIgnoresUnreadableRelatedObjects: the children are deleted first, which needs no template.
func TestParentDeletionIgnoresUnreadableRelatedObjects(t *testing.T) {
	for why, readable := range map[string]bool{"it can be read": true, "it cannot": false} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withSpec(t, reconciletest.Readers, "finalize: {order: Reverse}"))
			c.KubectlApply(reconciletest.Reader("ns", "one", "{job: a}"))
			c.KubectlApply(reconciletest.Job("ns", "a", "{}", "{note: x}"))
			c.Settle()
			if !readable {
				c.Refuse["kind Job"] = &kind.NotFoundError{GVK: reconciletest.BatchJob.WithVersion("v1")}
				c.controllers.kindChanged(reconciletest.BatchJob)
				c.Settle()
			}
			during := ""
			c.During = func() {
				if o := c.Find("apps", "one"); o != nil {
					status, _ := o.Object["status"].(map[string]any)
					during += fmt.Sprint(status["jobs"])
				}
			}
			c.End(locationOf(parse(t, reconciletest.Reader("ns", "one", "{}"))), metav1.DeletePropagationBackground)
			c.Deliver()
			c.Settle()
			if c.Find("apps", "one") != nil || c.Find("configmaps", "one") != nil {
				t.Error("the parent is left, or its child")
			}
			if during == "" || strings.Trim(during, "1") != "" {
				t.Errorf("status.jobs is %q on the way, want what it was", during)
			}
		})
	}
}

// TestRevokedPermissionHidesRelatedObjects revokes the permission after the objects were read.
func TestRevokedPermissionHidesRelatedObjects(t *testing.T) {
	for why, optional := range map[string]bool{"the entry is needed": false, "the entry is optional": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, reconciletest.Readers, "    kind: Job\n", fmt.Sprintf("    kind: Job\n    optional: %v\n", optional)))
			c.KubectlApply(reconciletest.Job("ns", "a", "{}", "{note: s3cr3t}"))
			c.KubectlApply(reconciletest.Reader("ns", "one", "{job: a}"))
			c.Run()
			if got := c.JobsOf("one"); !strings.Contains(got, "s3cr3t") {
				t.Fatalf("the child has %s", got)
			}
			c.Caches[reconciletest.RelatedJobs].FailWatch(reconciletest.ErrForbidden)
			before := len(c.Requests)
			c.KubectlApply(reconciletest.Reader("ns", "two", "{job: a}"))
			c.Run()
			if got := c.JobsOf("two"); strings.Contains(got, "s3cr3t") {
				t.Errorf("a new child has %s", got)
			}
			for _, request := range c.Requests[before:] {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("%s while the permission is missing", request)
				}
			}
			if optional {
				return
			}
			if got := c.Condition("apps", "two", "Ready"); !strings.HasPrefix(got, "False RelatedUnreadable") {
				t.Errorf("ready condition of a new parent %q", got)
			}
			if got := c.Condition("templatecontrollers", "apps", "Watching"); !strings.HasPrefix(got, "False Forbidden") || !strings.Contains(got, "list") {
				t.Errorf("condition Watching %q", got)
			}
			if got := c.JobsOf("one"); !strings.Contains(got, "s3cr3t") {
				t.Errorf("the child from before has %s", got)
			}
			c.Caches[reconciletest.RelatedJobs].Watching()
			c.List(reconciletest.RelatedJobs)
			c.Run()
			if got := c.JobsOf("two"); !strings.Contains(got, "s3cr3t") {
				t.Errorf("after the permission is granted again, the new child has %s", got)
			}
		})
	}
}

// TestRelatedSelectionsAreLimitedPerTenant has two TemplateControllers of one tenant, one of which uses all its memory,
// and one of another tenant.
func TestRelatedSelectionsAreLimitedPerTenant(t *testing.T) {
	c := newCluster(t)
	c.controllers.selections = related.NewMemory(120)
	of := func(name, tenant, edited string) string {
		return with(t, reconciletest.Readers, "name: apps}", "name: "+name+"}", "spec:\n  watch:", "spec:\n  serviceAccountRef: {namespace: "+tenant+", name: deployer}\n  watch:",
			"kind: App}", "kind: App, namespaces: ["+name+"]}", "  status:\n    template: |\n      jobs: {{ len .related.jobs }}\n", edited)
	}
	expect := func(when, want string) {
		t.Helper()
		c.Settle()
		var have []string
		for _, name := range []string{"a", "b", "other"} {
			if c.Objects[request.Location{Resource: configMap("").Resource, Namespace: name, Name: name}] != nil {
				have = append(have, name)
			} else if got := c.Condition("apps", name, "Ready"); !strings.HasPrefix(got, "False TemplateError: related[jobs].select: the selection takes ") {
				t.Errorf("%s: %s is %s", when, name, got)
			}
		}
		if got := strings.Join(have, " "); got != want {
			t.Errorf("%s: children are in %s, want %s", when, got, want)
		}
	}
	for _, name := range []string{"a", "b", "other"} {
		c.KubectlApply(reconciletest.Reader(name, name, "{job: x}"))
	}
	c.KubectlApply(of("a", "team", ""))
	c.Settle()
	c.KubectlApply(of("b", "team", ""))
	c.KubectlApply(of("other", "neighbors", ""))
	expect("one takes all", "a other")
	c.KubectlApply(of("a", "team", "  resyncPeriod: 1h\n"))
	expect("it is edited", "a other")
	c.RemoveNow(request.Location{Resource: v1.Resource, Name: "a"})
	expect("it is deleted", "a b other")
}
