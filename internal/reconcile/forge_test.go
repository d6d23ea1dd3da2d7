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

// TestChildThatIsDisownedAtOnceIsRestored disowns a child before the answer to the request that has created it arrives: no watch has shown it as
// ours.
func TestChildThatIsDisownedAtOnceIsRestored(t *testing.T) {
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

// edited has the attack change the values of the child, too.
func edited(attack reconciletest.Attack) reconciletest.Attack {
	return func(c *reconciletest.Cluster, at request.Location, earlier string) {
		c.KubectlEdit(at, func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "edited"} })
		attack(c, at, earlier)
	}
}

// TestEditedAnnotationsReplaceNothing attacks a child under Recreate that has been replaced once, so that it has an earlier seal by name, with
// and without an edit of its values, while the operator runs and before it starts.
func TestEditedAnnotationsReplaceNothing(t *testing.T) {
	for what, attack := range reconciletest.Attacks {
		for how, do := range map[string]reconciletest.Attack{"": attack, ", and its values": edited(attack)} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") && how != "" {
					continue // nothing tells an edit of an object from its replacement by an earlier state, while nobody looks
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

// TestAForgedHashHidesNoChange gives a child the hash of what its template will yield next.
func TestAForgedHashHidesNoChange(t *testing.T) {
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
			c.start() // which has seen neither before
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

// TestEditedMarksPruneNothing attacks a child that its prunePolicy keeps and that is no longer desired. Its child template had another
// policy before, and exists or was removed.
func TestEditedMarksPruneNothing(t *testing.T) {
	for what, attack := range reconciletest.Attacks {
		for _, removed := range []bool{false, true} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") {
					continue // see docs/operate/security.md: nobody looked
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

// TestSealsOfFormat1AreRenewed has children of an earlier version: nothing is replaced, whatever the strategy.
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
