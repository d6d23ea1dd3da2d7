package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
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

// TestEditedMarksDeleteNoOrphan attacks a child in another namespace that outlives its parent, and then deletes the parent, or the
// TemplateController.
func TestEditedMarksDeleteNoOrphan(t *testing.T) {
	plain := withElsewhere(t, tenants)
	spec := with(t, plain, "- name: maps\n", "- name: maps\n    deletionPolicy: Orphan\n")
	for what, attack := range attacks {
		for how, end := range map[string]func(*cluster){
			", and its child template was removed": func(c *cluster) {
				c.gone(appAt("one"))
				c.apply(with(t, spec, "- name: maps\n", "- name: others\n"))
			},
			"": func(c *cluster) { c.gone(appAt("one")) },
			", and the TemplateController is deleted": (*cluster).goes,
		} {
			for _, restart := range []bool{false, true} {
				if restart && strings.Contains(what, "earlier") && strings.Contains(how, "removed") {
					continue // see docs/operate/security.md: nobody looked
				}
				t.Run(what+how+map[bool]string{true: ", before a start"}[restart], func(t *testing.T) {
					c := begun(t, plain, with(t, tenant, ", role: r", ""))
					earlier := c.Objects[farMap("a")].GetAnnotations()[v1.AnnotationSeal]
					c.clock.SetTime(c.clock.Now().Add(time.Minute))
					c.apply(spec)
					c.settle()
					end(c)
					attack(c, farMap("a"), earlier)
					if restart {
						c.start()
					}
					for range 5 {
						c.clock.SetTime(c.clock.Now().Add(time.Minute))
						wantNoDeletion(t, c.settle())
					}
					if c.Objects[farMap("a")] == nil {
						t.Error("it is gone")
					}
				})
			}
		}
	}
}

// TestDisownedChildIsRestored edits a child in another namespace, and disowns it in the same write. No owner reference has it deleted with its
// parent: templater has to know it for its own.
func TestDisownedChildIsRestored(t *testing.T) {
	for why, attack := range map[string]func(*cluster, request.Location, string){
		"no label of the parent":                      disowned(v1.LabelParentUID, "", ""),
		"the label of another parent":                 disowned(v1.LabelParentUID, "0000", ""),
		"the label of another parent, and a bad seal": disowned(v1.LabelParentUID, "0000", "x"),
		"no label of the TemplateController":          disowned(v1.LabelController, "", ""),
		"the label of another TemplateController":     disowned(v1.LabelController, "zzz", ""),
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, with(t, tenant, ", role: r", ""))
			before := c.Objects[farMap("a")].DeepCopy()
			edited := before.DeepCopy()
			edited.Object["data"] = map[string]any{"text": "evil"}
			c.Store(farMap("a"), edited) // the watch shows it with what follows
			attack(c, farMap("a"), "")
			c.settle()
			now := c.Objects[farMap("a")]
			if diff := cmp.Diff(before.Object["data"], now.Object["data"]); diff != "" || now.GetUID() != before.GetUID() {
				t.Errorf("it is another object, or has other data (-before +now):\n%s", diff)
			}
			if diff := cmp.Diff(before.GetLabels(), now.GetLabels()); diff != "" {
				t.Errorf("labels (-before +now):\n%s", diff)
			}
			if seal := now.GetAnnotations()[v1.AnnotationSeal]; seal == "" || seal == "x" {
				t.Errorf("its seal is %q", seal)
			}
			if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True Ready") {
				t.Errorf("ready condition is %q", got)
			}
			c.gone(appAt("one"))
			c.settle()
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
			c.settle()
			if c.Objects[farMap("a")] != nil {
				t.Error("it is not deleted with its parent")
			}
		})
	}
}
