package controllers

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// jobsWatch and mapsWatch are the watches of child Jobs and ConfigMaps.
var (
	jobsWatch = watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Group: "batch", Kind: "Job"}].Resource, Labels: v1.LabelController, Role: watch.Child}
	mapsWatch = watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}
)

// deny makes the API server forbid all requests for the resource of a watch.
func (c *cluster) deny(want watch.Want) {
	c.T.Helper()
	resource := want.Resource.Resource
	for _, verb := range []string{"create", "delete", "get", "list", "patch", "watch"} {
		c.Lacks[verb+" "+resource] = true
	}
	c.Silent[want] = true
	if c.Caches[want] != nil {
		c.Caches[want].Fail(denial("", "list", resource, "at the cluster scope"))
	}
}

// permit makes the API server allow all requests again.
func (c *cluster) permit(want watch.Want) {
	c.T.Helper()
	clear(c.Lacks)
	clear(c.Refuse)
	delete(c.Silent, want)
	if c.Caches[want] != nil {
		c.Caches[want].Watching()
		c.List(want)
	}
}

// settleDenied settles while a watch that starts only now is forbidden.
func (c *cluster) settleDenied(want watch.Want) {
	c.T.Helper()
	c.Run()
	if c.Caches[want] == nil {
		c.T.Fatal("the kind is not watched")
	}
	c.deny(want)
	c.Settle()
}

// expectKinds compares the kinds in the status and in the watches of the TemplateController.
func (c *cluster) expectKinds(why, want string) {
	c.T.Helper()
	if got := kinds(c); got != want {
		c.T.Errorf("%s: kinds %q, want %q", why, got, want)
	}
}

// expectReady compares the ready condition of the TemplateController.
func (c *cluster) expectReady(why, want string) {
	c.T.Helper()
	if got := c.Condition("templatecontrollers", "apps", v1.ConditionReady); got != want {
		c.T.Errorf("%s: Ready is %s, want %s", why, got, want)
	}
}

const isReady = "True Ready: accepted and watching"

// TestRevertedTemplateNeedsNoPermission: a template renders a kind that must not be read, and is then reverted.
func TestRevertedTemplateNeedsNoPermission(t *testing.T) {
	broken := with(t, app, "name: one", "name: two", "spec: {", "spec: {odd: true, ")
	odd := func(text string) string {
		return with(t, text, "{{ range .spec.names }}", "{{ if .spec.odd }}{{ .spec.none }}{{ end }}{{ range .spec.names }}")
	}
	for why, during := range map[string]func(*cluster){
		"the operator goes on":             func(c *cluster) { c.KubectlApply(odd(apps)) },
		"the operator restarts before":     func(c *cluster) { c.start(); c.Settle(); c.KubectlApply(odd(apps)) },
		"the operator restarts after":      func(c *cluster) { c.KubectlApply(odd(apps)); c.start() },
		"the template of one parent fails": func(c *cluster) { c.KubectlApply(broken); c.Settle(); c.KubectlApply(odd(apps)) },
		"a reconciliation is still under way": func(c *cluster) {
			_, leave := c.controllers.Enter("apps")
			c.KubectlApply(odd(apps))
			c.Run()
			leave()
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(odd(apps))
			c.KubectlApply(app)
			c.Settle()
			c.Silent[jobsWatch] = true
			c.KubectlApply(odd(jobs(t)))
			c.settleDenied(jobsWatch)
			c.expectKinds("while the permission is missing", "ConfigMap; configmaps jobs")
			c.expectReady("while the permission is missing", "False Forbidden: templater is not allowed to create, delete, get, list, patch and watch jobs.batch in all namespaces: add {apiGroups: [batch], resources: [jobs], verbs: [create, delete, get, list, patch, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: \"true\"; children are kept until this is resolved")
			if c.Find("configmaps", "a") == nil {
				t.Error("a child is deleted while the kind that replaces it may not be read")
			}
			during(c)
			c.Settle()
			c.expectKinds("after the template was reverted", "ConfigMap; configmaps")
			c.expectReady("after the template was reverted", isReady)
			if requests := c.Requests; slices.ContainsFunc(requests, func(r string) bool { return strings.Contains(r, "jobs") }) {
				t.Errorf("requests %v", requests)
			}
		})
	}
}

// TestChildrenAreCreatedOnlyWhereKindIsRead: a watch succeeds during a reconciliation that began earlier.
func TestChildrenAreCreatedOnlyWhereKindIsRead(t *testing.T) {
	failed := cacheOf(t)
	failed.Fail(denial("", "list", "jobs", "at the cluster scope"))
	for why, row := range map[string]struct {
		source controller.Source
		want   bool
	}{
		"recorded and read":         {controller.Source{Caches: map[string]*watch.Cache{"ns": cacheOf(t)}}, true},
		"recorded, and not read":    {controller.Source{Caches: map[string]*watch.Cache{"ns": failed, "other": cacheOf(t)}}, false},
		"read, and not recorded":    {controller.Source{Unrecorded: true, Caches: map[string]*watch.Cache{"ns": cacheOf(t)}}, false},
		"neither read nor recorded": {controller.Source{Unrecorded: true, Caches: map[string]*watch.Cache{"ns": failed}}, false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := row.source.MayCreate("ns"); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

// TestFormerChildKindNeedsOnlyListAndWatch checks what the deletion of a parent, or of the TemplateController, waits
// for.
func TestFormerChildKindNeedsOnlyListAndWatch(t *testing.T) {
	for why, row := range map[string]struct {
		former bool
		want   string
	}{
		"templates yield the kind":           {false, "templater is not allowed to create, delete, get, list, patch and watch jobs"},
		"templates no longer yield the kind": {true, "templater is not allowed to list and watch jobs"},
	} {
		t.Run(why, func(t *testing.T) {
			c, found := deprived(t, "", "create", "delete", "get", "list", "patch", "watch")
			cache := cacheOf(t)
			cache.Fail(denial("", "list", "jobs", "at the cluster scope"))
			job := schema.GroupKind{Group: "batch", Kind: "Job"}
			c.Spec = &v1.TemplateControllerSpec{}
			c.Sources = map[schema.GroupKind]controller.Source{job: {Kind: reconciletest.Kinds[job], Former: row.former, Caches: map[string]*watch.Cache{"": cache}}}
			c.ChildObstacle()
			found()
			if reason, message := c.ChildObstacle(); reason != v1.ReasonForbidden || !strings.HasPrefix(message, row.want) {
				t.Errorf("%s: %s, want %s", reason, message, row.want)
			}
		})
	}
}

// TestKindIsRecordedOnceReadInAnyNamespace: a service account has permissions in some namespaces only.
func TestKindIsRecordedOnceReadInAnyNamespace(t *testing.T) {
	gk := schema.GroupKind{Group: "batch", Kind: "Job"}
	failed := cacheOf(t)
	failed.Fail(denial("", "list", "jobs", "at the cluster scope"))
	for why, row := range map[string]struct {
		sources map[schema.GroupKind]controller.Source
		want    bool
	}{
		"read in one namespace":    {map[schema.GroupKind]controller.Source{gk: {Caches: map[string]*watch.Cache{"a": failed, "b": cacheOf(t)}}}, true},
		"read in none":             {map[schema.GroupKind]controller.Source{gk: {Caches: map[string]*watch.Cache{"a": failed}}}, false},
		"not served":               {map[schema.GroupKind]controller.Source{gk: {}}, false},
		"added since it was built": {map[schema.GroupKind]controller.Source{}, false},
	} {
		t.Run(why, func(t *testing.T) {
			c, e := newCluster(t), newTracked("u")
			c.controllers.tracked["apps"] = e
			c.controllers.AddKinds("apps", []schema.GroupVersionKind{gk.WithVersion("v1")})
			next := &controller.Controller{Caches: controller.Caches{Sources: row.sources}}
			c.controllers.recordReadable(e, next)
			if got := !e.unrecorded[gk]; got != row.want {
				t.Errorf("recorded: %v, want %v", got, row.want)
			}
			if s, built := next.Sources[gk]; built && s.Unrecorded == row.want {
				t.Errorf("source is unrecorded: %v", s.Unrecorded)
			}
		})
	}
}

// TestKindRecordedByAnotherReplicaIsKept: the other replica's record is used until this one has written the status.
func TestKindRecordedByAnotherReplicaIsKept(t *testing.T) {
	gk := schema.GroupKind{Group: "batch", Kind: "Job"}
	e := newTracked("u")
	e.childKinds[gk], e.unrecorded[gk] = "v1", true
	e.learn([]v1.ChildKind{{Group: gk.Group, Version: "v1", Kind: gk.Kind}})
	e.dropUnrecorded()
	if e.childKinds[gk] == "" {
		t.Error("the kind is forgotten, though there may be objects of it")
	}
}

// TestRevertedTemplateAfterForbiddenCreate: a template renders a kind that may be read but not created.
func TestRevertedTemplateAfterForbiddenCreate(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	for _, name := range []string{"a", "b"} {
		c.Refuse["create jobs "+name] = denial("", "create", "jobs", "in the namespace \"ns\"")
	}
	c.KubectlApply(jobs(t))
	c.Settle()
	c.expectKinds("while the permission is missing", "ConfigMap Job; configmaps jobs")
	c.KubectlApply(apps)
	c.Settle()
	c.expectKinds("after the template was reverted", "ConfigMap; configmaps")
	c.expectReady("after the template was reverted", isReady)
}

// TestKindIsRecordedBeforeFirstChildIsCreated interrupts the operator at each step.
func TestKindIsRecordedBeforeFirstChildIsCreated(t *testing.T) {
	c := newCluster(t)
	c.Silent[mapsWatch] = true
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	c.expectKinds("while it is being read", "; configmaps")
	if c.Find("configmaps", "a") != nil {
		t.Fatal("a child is created before its kind can be read")
	}
	delete(c.Silent, mapsWatch)
	c.Refuse["status templatecontrollers apps"] = refusal(500, "InternalError", "x")
	c.List(mapsWatch)
	c.Run()
	c.expectKinds("while the status cannot be written", "; configmaps")
	if _, requests := c.Reconcile("apps", "one"); len(requests) > 0 || c.Find("configmaps", "a") != nil {
		t.Fatalf("before its kind is on record, a child leads to requests: %v", requests)
	}
	clear(c.Refuse)
	created := false
	c.During = func() {
		for at := range c.Objects {
			if at.Resource.Resource == "configmaps" && !created {
				created = true
				c.expectKinds("when the first child is there", "ConfigMap; configmaps")
			}
		}
	}
	c.Settle()
	c.During = nil
	if !created {
		t.Fatal("no child is created")
	}
}

// TestKindWithChildrenIsNeverDropped revokes the permissions for a kind that has children, and reverts the template
// that renders it.
func TestKindWithChildrenIsNeverDropped(t *testing.T) {
	const needs = "False Forbidden: templater is not allowed to list and watch configmaps in all namespaces: add {apiGroups: [\"\"], resources: [configmaps], verbs: [list, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: \"true\"; children are kept until this is resolved"
	for why, restart := range map[string]func(*cluster){
		"the operator goes on":         func(c *cluster) { c.KubectlApply(jobs(t)) },
		"the operator restarts before": func(c *cluster) { c.start(); c.settleDenied(mapsWatch); c.KubectlApply(jobs(t)) },
		"the operator restarts after":  func(c *cluster) { c.KubectlApply(jobs(t)); c.start(); c.settleDenied(mapsWatch) },
		"the template changes for good": func(c *cluster) {
			c.KubectlApply(jobs(t))
			c.Settle()
			c.KubectlApply(with(t, jobs(t), "spec: {}", "spec: {suspend: true}"))
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Settle()
			c.deny(mapsWatch)
			c.Settle()
			restart(c)
			c.Settle()
			c.expectKinds("while the permission is missing", "ConfigMap Job; configmaps jobs")
			c.expectReady("while the permission is missing", needs)
			if c.Find("configmaps", "a") == nil {
				t.Fatal("a child is deleted though its kind cannot be read")
			}
			c.permit(mapsWatch)
			for _, name := range []string{"a", "b"} {
				c.Refuse["delete configmaps "+name] = denial("", "delete", "configmaps", "in the namespace \"ns\"")
			}
			c.Lacks["delete configmaps ns"] = true
			c.Settle()
			c.expectKinds("while the deletion is refused", "ConfigMap Job; configmaps jobs")
			c.expectReady("while the deletion is refused", isReady)
			if got := c.Condition("apps", "one", v1.ConditionReady); !strings.Contains(got, "templater is not allowed to delete configmaps in namespace ns") {
				t.Errorf("while the deletion is refused: Ready of the parent is %s", got)
			}
			c.permit(mapsWatch)
			c.Settle()
			c.expectKinds("with all permissions", "Job; jobs")
			if c.Find("configmaps", "a") != nil {
				t.Error("a child is lost track of")
			}
		})
	}
}

// TestUnreadableKindDoesNotBlockDeletion: no child of the kind was created.
func TestUnreadableKindDoesNotBlockDeletion(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Settle()
	c.Silent[jobsWatch] = true
	c.KubectlApply(withSpec(t, jobs(t), "whenDeleted: DeleteChildren"))
	c.settleDenied(jobsWatch)
	c.startDeletion()
	c.Settle()
	if c.Objects[appsController] != nil || c.Find("configmaps", "a") != nil {
		t.Errorf("not deleted: Ready is %s", c.Condition("templatecontrollers", "apps", v1.ConditionReady))
	}
}
