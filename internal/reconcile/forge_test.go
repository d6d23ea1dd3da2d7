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
)

// sealOfFormat1 is what earlier versions sealed the ConfigMap ns/a with, for the parent ns/one of apps.
const sealOfFormat1 = "1:mjuohs3f:y-oOtfwz7ONvwv87p7Lmmg:maps"

// annotate sets annotations of a child, as somebody does who may write it; an empty value takes one away.
func (c *cluster) annotate(at request.Location, pairs ...string) {
	c.t.Helper()
	c.edit(at, func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		for i := 0; i < len(pairs); i += 2 {
			if annotations[pairs[i]] = pairs[i+1]; pairs[i+1] == "" {
				delete(annotations, pairs[i])
			}
		}
		o.SetAnnotations(annotations)
	})
}

// wantNoDeletion fails if one of the requests deletes something.
func wantNoDeletion(t *testing.T, requests []string) {
	t.Helper()
	if slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, "delete") }) {
		t.Errorf("requests %v: one of them deletes", requests)
	}
}

// The attacks are what somebody can do who may patch a child. earlier is a valid seal that it had before.
var attacks = map[string]func(c *cluster, at request.Location, earlier string){
	"the hash is removed": func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationHash, "") },
	"the hash is forged":  func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationHash, "0123") },
	"the seal is removed": func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationSeal, "") },
	"the seal is no seal": func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationSeal, "x") },
	"an earlier seal is restored while there is no label":     unlabelled(true),
	"an earlier seal is restored after the label was removed": unlabelled(false),
	"an earlier seal is restored":                             func(c *cluster, at request.Location, earlier string) { c.annotate(at, v1.AnnotationSeal, earlier) },
	"an earlier seal is restored after there was none": func(c *cluster, at request.Location, earlier string) {
		c.annotate(at, v1.AnnotationSeal, "")
		c.annotate(at, v1.AnnotationSeal, earlier)
	},
	"a seal of format 1 is restored": func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationSeal, sealOfFormat1) },
	"a seal of format 1 is restored, and the hash removed": func(c *cluster, at request.Location, _ string) {
		c.annotate(at, v1.AnnotationSeal, sealOfFormat1, v1.AnnotationHash, "")
	},
	"all annotations are removed": func(c *cluster, at request.Location, _ string) {
		c.edit(at, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	},
	"prune is removed":                       func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationPrune, "") },
	"prune is changed":                       func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationPrune, "Delete") },
	"deletion is removed":                    func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationDeletion, "") },
	"deletion is changed":                    func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationDeletion, "Delete") },
	"order is changed":                       func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationOrder, "7") },
	"the label names another child template": relabelled(func(*cluster, request.Location, string) {}),
	"the label names another child template, and the seal is removed":         relabelled(func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationSeal, "") }),
	"the label names another child template, and the seal is no seal":         relabelled(func(c *cluster, at request.Location, _ string) { c.annotate(at, v1.AnnotationSeal, "x") }),
	"the label names another child template, and an earlier seal is restored": relabelled(func(c *cluster, at request.Location, earlier string) { c.annotate(at, v1.AnnotationSeal, earlier) }),
	"the label names another child template, and all annotations are removed": relabelled(func(c *cluster, at request.Location, _ string) {
		c.edit(at, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	}),
	"the label of the parent is removed, and the seal":                           disowned(v1.LabelParentUID, "", ""),
	"the label of the parent names another, and the seal is removed":             disowned(v1.LabelParentUID, "0000", ""),
	"the label of the parent names another, and the seal is no seal":             disowned(v1.LabelParentUID, "0000", "x"),
	"the label of the TemplateController is removed, and the seal":               disowned(v1.LabelController, "", ""),
	"the label of the TemplateController names another, and the seal is removed": disowned(v1.LabelController, "zzz", ""),
}

// disowned has a label that says whose the child is changed, and its seal, in one write; an empty value takes one away.
func disowned(label, value, seal string) func(*cluster, request.Location, string) {
	return func(c *cluster, at request.Location, _ string) {
		c.edit(at, func(o *unstructured.Unstructured) {
			labels, annotations := o.GetLabels(), o.GetAnnotations()
			if labels[label] = value; value == "" {
				delete(labels, label)
			}
			if annotations[v1.AnnotationSeal] = seal; seal == "" {
				delete(annotations, v1.AnnotationSeal)
			}
			o.SetLabels(labels)
			o.SetAnnotations(annotations)
		})
	}
}

// unlabelled has an earlier seal restored while no watch shows the child, and sets the label back or leaves it away.
func unlabelled(back bool) func(*cluster, request.Location, string) {
	return func(c *cluster, at request.Location, earlier string) {
		controller := c.Objects[at].GetLabels()[v1.LabelController]
		c.edit(at, func(o *unstructured.Unstructured) {
			labels := o.GetLabels()
			delete(labels, v1.LabelController)
			o.SetLabels(labels)
		})
		c.annotate(at, v1.AnnotationSeal, earlier)
		if back {
			c.edit(at, func(o *unstructured.Unstructured) {
				labels := o.GetLabels()
				labels[v1.LabelController] = controller
				o.SetLabels(labels)
			})
		}
	}
}

// TestChildThatIsDisownedAtOnceIsRestored disowns a child before the answer to the request that has created it arrives: no watch has shown it as
// ours.
func TestChildThatIsDisownedAtOnceIsRestored(t *testing.T) {
	for label, values := range map[string][]string{v1.LabelParentUID: {"", "0000"}, v1.LabelController: {"", "zzz"}} {
		for _, value := range values {
			t.Run(label+"="+value, func(t *testing.T) {
				c := newCluster(t)
				c.apply(apps)
				c.apply(with(t, app, "[a, b]", "[a]"))
				c.applied = func() {
					if c.Objects[configMap("a")] == nil {
						return
					}
					c.applied = nil
					c.deliver()
					disowned(label, value, "")(c, configMap("a"), "")
				}
				c.settle()
				if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True Ready") || c.sealOf("a") == "" {
					t.Errorf("ready condition is %q, and the seal %q", got, c.sealOf("a"))
				}
			})
		}
	}
}

// elsewhere is the child template that the label of an attacked child names: it yields nothing, and its policies are to delete.
const elsewhere = "elsewhere"

// withElsewhere adds that child template to a spec.
func withElsewhere(t *testing.T, text string) string {
	t.Helper()
	return with(t, text, "  children:\n", "  children:\n  - name: "+elsewhere+"\n    scope: Cluster\n    template: \"\"\n")
}

// relabelled has the attack move the child to another child template by its label, in one write after the other.
func relabelled(attack func(*cluster, request.Location, string)) func(*cluster, request.Location, string) {
	return func(c *cluster, at request.Location, earlier string) {
		attack(c, at, earlier)
		c.edit(at, func(o *unstructured.Unstructured) {
			labels := o.GetLabels()
			labels[v1.LabelChild] = elsewhere
			o.SetLabels(labels)
		})
	}
}

// edited has the attack change the values of the child, too.
func edited(attack func(*cluster, request.Location, string)) func(*cluster, request.Location, string) {
	return func(c *cluster, at request.Location, earlier string) {
		c.edit(at, func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "edited"} })
		attack(c, at, earlier)
	}
}

// TestEditedAnnotationsReplaceNothing attacks a child under Recreate that has been replaced once, so that it has an earlier seal by name, with
// and without an edit of its values, while the operator runs and before it starts.
func TestEditedAnnotationsReplaceNothing(t *testing.T) {
	for what, attack := range attacks {
		for how, do := range map[string]func(*cluster, request.Location, string){"": attack, ", and its values": edited(attack)} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") && how != "" {
					continue // nothing tells an edit of an object from its replacement by an earlier state, while nobody looks
				}
				t.Run(what+how+map[bool]string{true: ", before a start", false: ""}[restart], func(t *testing.T) {
					c := runs(t, withElsewhere(t, under(t, "Recreate")))
					earlier := c.sealOf("a")
					c.clock.SetTime(c.clock.Now().Add(time.Minute))
					c.apply(with(t, app, "hello", "bye"))
					c.settle()
					before := c.get("configmaps", "a").GetUID()
					do(c, configMap("a"), earlier)
					if restart {
						c.start()
					}
					wantNoDeletion(t, c.settle())
					if now := c.get("configmaps", "a"); now == nil || now.GetUID() != before {
						t.Errorf("it is another object: %v", now)
					}
					got := c.condition("apps", "one", "Ready")
					if !strings.HasPrefix(got, "True Ready") && !strings.HasPrefix(got, "False Outdated") && (!restart || !strings.HasPrefix(got, "False ChildConflict")) {
						t.Errorf("ready condition is %q", got)
					}
					if how == "" && strings.HasPrefix(got, "False Outdated") {
						t.Errorf("its values are as they should be, and the ready condition is %q", got)
					}
					c.start()
					wantNoDeletion(t, c.settle())
				})
			}
		}
	}
}

// TestAForgedHashHidesNoChange gives a child the hash of what its template will yield next.
func TestAForgedHashHidesNoChange(t *testing.T) {
	next := with(t, app, "hello", "bye")
	for strategy, want := range map[string][]string{
		"Apply":    {"update configmaps a", "update configmaps b", "status apps one"},
		"Recreate": {"delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one"},
		"OnDelete": {"status apps one"},
	} {
		t.Run(strategy, func(t *testing.T) {
			other := newCluster(t)
			other.apply(under(t, strategy))
			other.apply(next)
			other.settle()
			hash := other.get("configmaps", "a").GetAnnotations()[v1.AnnotationHash]

			c := runs(t, under(t, strategy))
			c.annotate(configMap("a"), v1.AnnotationHash, hash)
			c.apply(next)
			c.start() // which has seen neither before
			got := c.run()
			got = slices.DeleteFunc(got, func(r string) bool { return strings.HasPrefix(r, "mark") })
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("requests %v, want %v", got, want)
			}
			if got := c.condition("apps", "one", "Ready"); strategy == "OnDelete" && !strings.HasPrefix(got, "False Outdated: 2 of 2 children") {
				t.Errorf("ready condition is %q", got)
			}
		})
	}
}

// TestEditedMarksPruneNothing attacks a child that its prunePolicy keeps and that is no longer desired. Its child template had another
// policy before, and exists or was removed.
func TestEditedMarksPruneNothing(t *testing.T) {
	for what, attack := range attacks {
		for _, removed := range []bool{false, true} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") {
					continue // see docs/operate/security.md: nobody looked
				}
				t.Run(what+map[bool]string{true: ", and its child template was removed"}[removed]+map[bool]string{true: ", before a start"}[restart], func(t *testing.T) {
					spec := withElsewhere(t, apps)
					c := runs(t, spec)
					earlier := c.sealOf("a")
					c.clock.SetTime(c.clock.Now().Add(time.Minute))
					spec = with(t, spec, "name: maps", "name: maps\n    prunePolicy: Orphan")
					c.apply(spec)
					c.settle()
					if removed {
						c.apply(with(t, spec, "name: maps", "name: others", ".children.maps", ".children.others", "metadata: {name: {{ . }}}", "metadata: {name: {{ . }}-2}"))
					} else {
						c.apply(with(t, app, "[a, b]", "[b]"))
					}
					wantNoDeletion(t, c.settle())
					attack(c, configMap("a"), earlier)
					if restart {
						c.start()
					}
					wantNoDeletion(t, c.settle())
					c.start()
					wantNoDeletion(t, c.settle())
					if c.get("configmaps", "a") == nil {
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
			c := runs(t, under(t, strategy))
			before := c.get("configmaps", "a").GetUID()
			c.annotate(configMap("a"), v1.AnnotationSeal, sealOfFormat1)
			if _, verdict := ring(t).Open(sealOfFormat1, seal.Subject{
				Definition: definition("apps"), Parent: seal.Parent{UID: "uid-one", Kind: schema.GroupKind{Group: "example.org", Kind: "App"}, Name: configMapName("one")}, Kind: schema.GroupKind{Kind: "ConfigMap"}, Name: configMapName("a"),
			}); verdict != seal.Valid {
				t.Fatalf("the seal of format 1 does not hold: verdict %v", verdict)
			}
			c.start()
			wantRequests(t, "after the upgrade", c.settle(), want...)
			if note := seal.Read(c.sealOf("a")); note.Old || note.Hash == "" && strategy != "CreateOnly" || c.get("configmaps", "a").GetUID() != before {
				t.Errorf("its seal is %+v, or it is another object", note)
			}
			c.start()
			wantRequests(t, "after a restart", c.settle())
		})
	}
}
