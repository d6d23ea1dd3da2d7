package controllers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// TestTamperedMetadataDeletesNoOrphan attacks a child in another namespace with deletionPolicy Orphan, and then deletes
// the parent, or the TemplateController.
func TestTamperedMetadataDeletesNoOrphan(t *testing.T) {
	plain := reconciletest.WithOtherTemplate(t, tenants)
	spec := withTemplate(t, plain, "deletionPolicy: Orphan")
	for what, attack := range reconciletest.Attacks {
		for how, end := range map[string]func(*cluster){
			", and its child template was removed": func(c *cluster) {
				c.RemoveNow(reconciletest.AppAt("one"))
				c.KubectlApply(with(t, spec, "- name: maps\n", "- name: others\n"))
			},
			"": func(c *cluster) { c.RemoveNow(reconciletest.AppAt("one")) },
			", and the TemplateController is deleted": (*cluster).startDeletion,
		} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") && strings.Contains(how, "removed") {
					continue // see docs/operate/seals.md: not observed
				}
				t.Run(what+how+map[bool]string{true: ", before a start"}[restart], func(t *testing.T) {
					c := begun(t, plain, with(t, tenant, ", role: r", ""))
					earlier := c.Objects[reconciletest.FarMap("a")].GetAnnotations()[v1.AnnotationSeal]
					c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
					c.KubectlApply(spec)
					c.Settle()
					end(c)
					attack(c.Cluster, reconciletest.FarMap("a"), earlier)
					if restart {
						c.start()
					}
					for range 5 {
						c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
						reconciletest.WantNoDeletion(t, c.Settle())
					}
					if c.Objects[reconciletest.FarMap("a")] == nil {
						t.Error("it is gone")
					}
				})
			}
		}
	}
}

// TestDisownedChildIsRestored edits and disowns a child in another namespace in the same write. No owner reference
// makes the garbage collector delete it with its parent, so templater must recognize it.
func TestDisownedChildIsRestored(t *testing.T) {
	for why, attack := range map[string]reconciletest.Attack{
		"no label of the parent":                      reconciletest.Disown(v1.LabelParentUID, "", ""),
		"the label of another parent":                 reconciletest.Disown(v1.LabelParentUID, "0000", ""),
		"the label of another parent, and a bad seal": reconciletest.Disown(v1.LabelParentUID, "0000", "x"),
		"no label of the TemplateController":          reconciletest.Disown(v1.LabelController, "", ""),
		"the label of another TemplateController":     reconciletest.Disown(v1.LabelController, "zzz", ""),
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, with(t, tenant, ", role: r", ""))
			before := c.Objects[reconciletest.FarMap("a")].DeepCopy()
			edited := before.DeepCopy()
			edited.Object["data"] = map[string]any{"text": "evil"}
			c.Store(reconciletest.FarMap("a"), edited) // the watch delivers it together with the next change
			attack(c.Cluster, reconciletest.FarMap("a"), "")
			c.Settle()
			now := c.Objects[reconciletest.FarMap("a")]
			if diff := cmp.Diff(before.Object["data"], now.Object["data"]); diff != "" || now.GetUID() != before.GetUID() {
				t.Errorf("it is another object, or has other data (-before +now):\n%s", diff)
			}
			if diff := cmp.Diff(before.GetLabels(), now.GetLabels()); diff != "" {
				t.Errorf("labels (-before +now):\n%s", diff)
			}
			if seal := now.GetAnnotations()[v1.AnnotationSeal]; seal == "" || seal == "x" {
				t.Errorf("its seal is %q", seal)
			}
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True Ready") {
				t.Errorf("ready condition is %q", got)
			}
			c.RemoveNow(reconciletest.AppAt("one"))
			c.Settle()
			c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
			c.Settle()
			if c.Objects[reconciletest.FarMap("a")] != nil {
				t.Error("it is not deleted with its parent")
			}
		})
	}
}
