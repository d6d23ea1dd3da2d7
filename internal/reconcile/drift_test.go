package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// inOurName changes the ConfigMap "a" like an apply by another client with templater's field manager, in the same second as templater's own
// apply.
func (c *cluster) inOurName(change func(o *unstructured.Unstructured)) {
	c.T.Helper()
	o := c.Find("configmaps", "a").DeepCopy()
	change(o)
	c.Store(configMap("a"), o)
}

func setText(text string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["text"] = text }
}

func setAnnotation(key, value string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		annotations[key] = value
		o.SetAnnotations(annotations)
	}
}

// addField adds a field that the template does not set, owned by templater's field manager.
func addField(o *unstructured.Unstructured) {
	fields := memserver.Usual.Held(o.Object, "")
	fields["f:data"].(map[string]any)["f:more"] = map[string]any{}
	memserver.Own(o, "templater/apps", "", fields)
	o.Object["data"].(map[string]any)["more"] = "hidden"
}

// relabel changes a label that templater adds, but whose value other clients may change.
func relabel(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	labels[v1.LabelManagedBy] = "hidden"
	o.SetLabels(labels)
}

func setController(name string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		labels[v1.LabelController] = name
		o.SetLabels(labels)
	}
}

// shareLabels makes another field manager own the labels, too.
func shareLabels(o *unstructured.Unstructured) {
	memserver.Own(o, "other", "", memserver.Usual.Held(map[string]any{"metadata": map[string]any{"labels": o.Object["metadata"].(map[string]any)["labels"]}}, ""))
}

// leaveLabels removes the labels from the fields of templater's field manager.
func leaveLabels(o *unstructured.Unstructured) {
	fields, _ := memserver.Holdings(o, "templater/apps", "")
	delete(fields["f:metadata"].(map[string]any), "f:labels")
	memserver.Own(o, "templater/apps", "", fields)
}

// TestForgedApplyByOurManagerIsReverted applies to a child as another client with templater's field manager: fields, time and seal are the same
// as after templater's own apply. Only the values differ.
func TestForgedApplyByOurManagerIsReverted(t *testing.T) {
	for what, changes := range map[string]func(current, earlier string) []func(*unstructured.Unstructured){
		"a value": func(_, _ string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){setText("hidden")}
		},
		"a label": func(_, _ string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){relabel}
		},
		"another field": func(_, _ string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){addField}
		},
		"one after the other": func(_, _ string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){setText("hidden"), setText("hidden too")}
		},
		"a value with an earlier seal": func(_, earlier string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){func(o *unstructured.Unstructured) { setText("hidden")(o); setAnnotation(v1.AnnotationSeal, earlier)(o) }}
		},
		"an earlier seal, then a value with the present one": func(current, earlier string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){setAnnotation(v1.AnnotationSeal, earlier), func(o *unstructured.Unstructured) { setText("hidden")(o); setAnnotation(v1.AnnotationSeal, current)(o) }}
		},
		"a value while the label names another TemplateController": func(_, _ string) []func(*unstructured.Unstructured) {
			return []func(*unstructured.Unstructured){
				func(o *unstructured.Unstructured) { setText("hidden")(o); setController("x")(o) },
				shareLabels, leaveLabels, setController("apps"),
			}
		},
	} {
		for when, restart := range map[string]func(c *cluster, step int){
			"": func(*cluster, int) {},
			", before a start": func(c *cluster, step int) {
				if step < 0 {
					c.start()
				}
			},
			", after a start": func(c *cluster, step int) {
				if step == 0 {
					c.start()
					c.Settle()
				}
			},
			", with a start in between": func(c *cluster, step int) {
				if step == 1 {
					c.start()
					c.Run()
				}
			},
		} {
			t.Run(what+when, func(t *testing.T) {
				c := settled(t, apps)
				earlier := c.SealOf("a")
				c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
				c.KubectlApply(newApp(withText("bye")))
				c.Settle()
				for step, change := range changes(c.SealOf("a"), earlier) {
					restart(c, step)
					c.inOurName(change)
					c.Deliver()
				}
				restart(c, -1)
				c.Settle()
				o := c.Find("configmaps", "a")
				if diff := cmp.Diff(map[string]any{"text": "bye"}, o.Object["data"]); diff != "" {
					t.Errorf("data (-want +got):\n%s", diff)
				}
				if got := o.GetLabels()[v1.LabelManagedBy]; got != v1.ManagedBy {
					t.Errorf("the label %s is %q", v1.LabelManagedBy, got)
				}
				wantRequests(t, "once", c.Settle())
				c.start()
				wantRequests(t, "after a restart", c.Settle())
			})
		}
	}
}

// TestValuesMutatedByWebhookAreNotDrift has a webhook that changes applied values.
func TestValuesMutatedByWebhookAreNotDrift(t *testing.T) {
	c := newCluster(t)
	c.Webhook = func(o *unstructured.Unstructured) {
		if text, ok, _ := unstructured.NestedString(o.Object, "data", "text"); ok {
			o.Object["data"].(map[string]any)["text"] = strings.ToUpper(text)
		}
	}
	c.KubectlApply(apps)
	c.KubectlApply(app)
	wantRequests(t, "at first", c.Settle(), "create configmaps a", "create configmaps b", "status apps one")
	for _, who := range []string{"first", "second"} {
		c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
			setAnnotation("example.org/seen", who)(o)
			o.Object["data"].(map[string]any)["theirs"] = who
		})
		wantRequests(t, "another manager writes its own fields", c.Settle())
	}
	c.inOurName(setText("HIDDEN"))
	c.Deliver()
	wantRequests(t, "somebody applies in our name", c.Settle(), "update configmaps a")
	if got := c.textOf("a"); got != "HELLO" {
		t.Errorf("the text is %q", got)
	}
	for range 2 {
		c.start()
		wantRequests(t, "after a restart, once", c.Settle(), "update configmaps a", "update configmaps b")
		wantRequests(t, "and then", c.Settle())
	}
}
