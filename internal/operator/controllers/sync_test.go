package controllers

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
)

func TestSuspendStopsEverything(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	suspended := withSpec(t, apps, "suspend: true")
	c.KubectlApply(suspended)
	c.KubectlApply(newApp(withText("bye")))
	c.RemoveNow(configMap("a"))
	wantRequests(t, "suspended", c.Run())
	if got, want := c.Condition("templatecontrollers", "apps", "Ready"), "False Suspended: spec.suspend is true: nothing is created, changed or deleted"; got != want {
		t.Errorf("TemplateController's ready condition %q, want %q", got, want)
	}
	c.KubectlApply(apps)
	wantRequests(t, "resumed", c.Run(), "create configmaps a", "update configmaps b", "status apps one")
}

func TestStatusSaysSuspendedOnceNothingRuns(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	said := false
	c.Validate = func(at request.Location, content map[string]any, _ string) error {
		if conditions := fmt.Sprint(content["status"]); at.Name == "apps" && strings.Contains(conditions, v1.ReasonSuspended) {
			said = true
			if running := c.controllers.get("apps"); running != nil && !running.Spec.Suspend {
				t.Error("the status says so while parents are still reconciled")
			}
		}
		return nil
	}
	c.KubectlApply(withSpec(t, apps, "suspend: true"))
	c.Run()
	if !said {
		t.Error("the status does not say so")
	}
}

func TestPruningWaitsForChildList(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.start()
	children := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child}
	c.Silent[children] = true
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "while the children are read", c.Run())
	if got, want := c.Condition("templatecontrollers", "apps", "Watching"), "False Syncing: reading configmaps"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	delete(c.Silent, children)
	c.List(children)
	wantRequests(t, "when they are read", c.Run(), "delete configmaps b", "status apps one")
}
