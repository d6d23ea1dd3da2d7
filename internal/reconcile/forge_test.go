package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// TestImmediatelyUnlabeledChildIsRestored removes a label of a child before the response to its create request arrives: no watch has shown it as
// owned.
func TestImmediatelyUnlabeledChildIsRestored(t *testing.T) {
	for label, values := range map[string][]string{v1.LabelParentUID: {"", "0000"}, v1.LabelController: {"", "zzz"}} {
		for _, value := range values {
			t.Run(label+"="+value, func(t *testing.T) {
				c := newCluster(t)
				c.KubectlApply(apps)
				c.KubectlApply(newApp(withChildren("a")))
				c.AfterApply = func() {
					if c.Objects[configMap("a")] == nil {
						return
					}
					c.AfterApply = nil
					c.Deliver()
					reconciletest.Disown(label, value, "")(c.Cluster, configMap("a"), "")
				}
				c.Settle()
				if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True Ready") || c.SealOf("a") == "" {
					t.Errorf("ready condition is %q, and the seal %q", got, c.SealOf("a"))
				}
			})
		}
	}
}

// edited returns an attack that also changes the values of the child.
func edited(attack reconciletest.Attack) reconciletest.Attack {
	return func(c *reconciletest.Cluster, at request.Location, earlier string) {
		c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "edited"} })
		attack(c, at, earlier)
	}
}

// TestEditedAnnotationsCauseNoReplacement attacks a child under Recreate that has been replaced once, so that an earlier seal for its name
// exists. It does so with and without an edit of its values, while the operator runs and before it starts.
func TestEditedAnnotationsCauseNoReplacement(t *testing.T) {
	for what, attack := range reconciletest.Attacks {
		for how, do := range map[string]reconciletest.Attack{"": attack, ", and its values": edited(attack)} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") && how != "" {
					continue // if nothing observes it, an edit of an object cannot be distinguished from restoring an earlier state
				}
				t.Run(what+how+map[bool]string{true: ", before a start", false: ""}[restart], func(t *testing.T) {
					c := settled(t, reconciletest.WithOtherTemplate(t, withStrategy(t, "Recreate")))
					earlier := c.SealOf("a")
					c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
					c.KubectlApply(newApp(withText("bye")))
					c.Settle()
					before := c.Find("configmaps", "a").GetUID()
					do(c.Cluster, configMap("a"), earlier)
					if restart {
						c.start()
					}
					reconciletest.WantNoDeletion(t, c.Settle())
					if now := c.Find("configmaps", "a"); now == nil || now.GetUID() != before {
						t.Errorf("it is another object: %v", now)
					}
					got := c.Condition("apps", "one", "Ready")
					if !strings.HasPrefix(got, "True Ready") && !strings.HasPrefix(got, "False Outdated") && (!restart || !strings.HasPrefix(got, "False ChildConflict")) {
						t.Errorf("ready condition is %q", got)
					}
					if how == "" && strings.HasPrefix(got, "False Outdated") {
						t.Errorf("its values are as they should be, and the ready condition is %q", got)
					}
					c.start()
					reconciletest.WantNoDeletion(t, c.Settle())
				})
			}
		}
	}
}

// TestForgedHashDoesNotHideChange sets the hash of a child to that of the next rendered content.
func TestForgedHashDoesNotHideChange(t *testing.T) {
	next := newApp(withText("bye"))
	for strategy, want := range map[string][]string{
		"Apply":    {"update configmaps a", "update configmaps b", "status apps one"},
		"Recreate": {"delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one"},
		"OnDelete": {"status apps one"},
	} {
		t.Run(strategy, func(t *testing.T) {
			other := newCluster(t)
			other.KubectlApply(withStrategy(t, strategy))
			other.KubectlApply(next)
			other.Settle()
			hash := other.Find("configmaps", "a").GetAnnotations()[v1.AnnotationHash]

			c := settled(t, withStrategy(t, strategy))
			c.Annotate(configMap("a"), v1.AnnotationHash, hash)
			c.KubectlApply(next)
			c.start() // which has never read them before
			got := c.Run()
			got = slices.DeleteFunc(got, func(r string) bool { return strings.HasPrefix(r, "mark") })
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("requests %v, want %v", got, want)
			}
			if got := c.Condition("apps", "one", "Ready"); strategy == "OnDelete" && !strings.HasPrefix(got, "False Outdated: 2 of 2 children") {
				t.Errorf("ready condition is %q", got)
			}
		})
	}
}

// TestEditedAnnotationsCauseNoPruning attacks a child that is no longer desired, and that its prunePolicy keeps. Its child template had another
// policy before, and exists or was removed.
func TestEditedAnnotationsCauseNoPruning(t *testing.T) {
	for what, attack := range reconciletest.Attacks {
		for _, removed := range []bool{false, true} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") {
					continue // see docs/operate/seals.md: not observed
				}
				t.Run(what+map[bool]string{true: ", and its child template was removed"}[removed]+map[bool]string{true: ", before a start"}[restart], func(t *testing.T) {
					spec := reconciletest.WithOtherTemplate(t, apps)
					c := settled(t, spec)
					earlier := c.SealOf("a")
					c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
					spec = with(t, spec, "name: maps", "name: maps\n    prunePolicy: Orphan")
					c.KubectlApply(spec)
					c.Settle()
					if removed {
						c.KubectlApply(with(t, spec, "name: maps", "name: others", ".children.maps", ".children.others", "metadata: {name: {{ . }}}", "metadata: {name: {{ . }}-2}"))
					} else {
						c.KubectlApply(newApp(withChildren("b")))
					}
					reconciletest.WantNoDeletion(t, c.Settle())
					attack(c.Cluster, configMap("a"), earlier)
					if restart {
						c.start()
					}
					reconciletest.WantNoDeletion(t, c.Settle())
					c.start()
					reconciletest.WantNoDeletion(t, c.Settle())
					if c.Find("configmaps", "a") == nil {
						t.Error("it is gone")
					}
				})
			}
		}
	}
}

// TestSealsOfFormat1AreRenewed has children of an earlier version: none is replaced under any strategy.
func TestSealsOfFormat1AreRenewed(t *testing.T) {
	for strategy, want := range map[string][]string{"Apply": {"update configmaps a"}, "Recreate": {"mark configmaps a"}, "CreateOnly": {"mark configmaps a"}, "OnDelete": {"mark configmaps a"}} {
		t.Run(strategy, func(t *testing.T) {
			c := settled(t, withStrategy(t, strategy))
			before := c.Find("configmaps", "a").GetUID()
			c.Annotate(configMap("a"), v1.AnnotationSeal, reconciletest.SealOfFormat1)
			if _, verdict := reconciletest.Ring(t).Open(reconciletest.SealOfFormat1, seal.Subject{
				Definition: reconciletest.Definition("apps"), Parent: seal.Parent{UID: "uid-one", Kind: schema.GroupKind{Group: "example.org", Kind: "App"}, Name: configMapName("one")}, Kind: schema.GroupKind{Kind: "ConfigMap"}, Name: configMapName("a"),
			}); verdict != seal.Valid {
				t.Fatalf("the seal of format 1 does not hold: verdict %v", verdict)
			}
			c.start()
			wantRequests(t, "after the upgrade", c.Settle(), want...)
			if note := seal.Read(c.SealOf("a")); note.Old || note.Hash == "" && strategy != "CreateOnly" || c.Find("configmaps", "a").GetUID() != before {
				t.Errorf("its seal is %+v, or it is another object", note)
			}
			c.start()
			wantRequests(t, "after a restart", c.Settle())
		})
	}
}
