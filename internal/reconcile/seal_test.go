package reconcile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestForgedChildDoesNotBlockRecreate(t *testing.T) {
	c := settled(t, withStrategy(t, "Recreate"))
	forged := c.ForgeCopy("a", "copy")
	forged.SetFinalizers([]string{"example.org/never"})
	c.Store(configMap("copy"), forged)
	c.Deliver()
	c.KubectlApply(newApp(withText("bye")))
	c.Settle()
	for _, name := range []string{"a", "b"} {
		if text, _, _ := unstructured.NestedString(c.Find("configmaps", name).Object, "data", "text"); text != "bye" {
			t.Errorf("%s has the text %q", name, text)
		}
	}
}

func TestPreexistingForgedObjectIsNotAdopted(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, strategy))
			c.KubectlApply(newApp(withChildren("b")))
			c.Settle()
			before := c.ForgeCopy("b", "a")
			c.KubectlApply(app)
			c.Settle()
			if diff := cmp.Diff(before, c.Find("configmaps", "a")); diff != "" {
				t.Errorf("it was changed:\n%s", diff)
			}
			const want = "False ChildConflict: ConfigMap ns/a already exists and is labeled as a child of this object, but its seal is invalid: another client copied or modified the object; inspect it, then delete it, or choose another name in the template"
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
				t.Errorf("ready condition is %q, want %q", got, want)
			}
		})
	}
}

// TestChildRestoredWithSealIsAccepted restores a backup, or replaces a child by a copy: clients that may do this may also edit the child. No
// time is compared.
func TestChildRestoredWithSealIsAccepted(t *testing.T) {
	for why, after := range map[string]time.Duration{"at once": 0, "an hour later": time.Hour, "an hour before, as a server shows whose clock was set back": -time.Hour} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, apps)
			o := c.Find("configmaps", "a").DeepCopy()
			c.RemoveNow(configMap("a"))
			o.SetUID("again")
			o.SetCreationTimestamp(metav1.NewTime(c.Clock.Now().Add(after)))
			c.Store(configMap("a"), o)
			c.Deliver()
			wantRequests(t, "it is back", c.Settle())
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True") {
				t.Errorf("ready condition is %q", got)
			}
		})
	}
}

func TestLostSealIsRestored(t *testing.T) {
	for strategy, want := range map[string]string{"Apply": "update configmaps a", "Recreate": "mark configmaps a", "CreateOnly": "mark configmaps a", "OnDelete": "mark configmaps a"} {
		t.Run(strategy, func(t *testing.T) {
			c := settled(t, withStrategy(t, strategy))
			c.StripSeals("a")
			wantRequests(t, "it is known", c.Run(), want)
			c.Deliver()
			wantRequests(t, "again", c.Run())

			o := c.Find("configmaps", "a").DeepCopy()
			o.SetAnnotations(reconciletest.Plus(nil, v1.AnnotationHash, o.GetAnnotations()[v1.AnnotationHash]))
			o.SetLabels(nil)
			c.Store(configMap("a"), o)
			c.Deliver()
			c.Settle()
			if labels := c.Find("configmaps", "a").GetLabels(); c.SealOf("a") == "" || labels[v1.LabelController] != "apps" || c.Find("configmaps", "a").GetUID() != o.GetUID() {
				t.Errorf("it has lost its labels, too, and has now %v", c.Find("configmaps", "a"))
			}

			c.StripSeals("a")
			before := c.Find("configmaps", "a").DeepCopy()
			c.start()
			requests := c.Settle()
			if diff := cmp.Diff(before, c.Find("configmaps", "a")); diff != "" {
				t.Errorf("it was changed after a restart:\n%s", diff)
			}
			if slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, "delete") }) {
				t.Errorf("requests after a restart: %v", requests)
			}
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildConflict: ConfigMap ns/a already exists and is labeled as a child of this object, but has no seal") {
				t.Errorf("ready condition is %q", got)
			}
		})
	}
}

// Editing its label does not move a child to another child template.
func TestSealDeterminesTemplateOfChild(t *testing.T) {
	two := with(t, apps, "  status:\n", "  - name: more\n    template: \"\"\n  status:\n", "{{ len .children.maps }}", "{{ len .children.maps }}\n      more: {{ len .observed.more }}")
	c := settled(t, withStrategy(t, "OnDelete"))
	c.KubectlApply(with(t, two, "    template: |\n      {{ range", "    updateStrategy: {type: OnDelete}\n    template: |\n      {{ range"))
	c.Settle()
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		labels[v1.LabelChild] = "more"
		o.SetLabels(labels)
	})
	c.start() // it has never read the earlier label
	wantRequests(t, "after the edit", c.Settle(), "mark configmaps a")
	if got := c.Find("configmaps", "a").GetLabels()[v1.LabelChild]; got != "maps" {
		t.Errorf("its entry is %q", got)
	}
	if more, _, _ := unstructured.NestedFieldNoCopy(c.Find("apps", "one").Object, "status", "more"); more != int64(0) && more != 0 {
		t.Errorf("the other entry has %v objects", more)
	}
}

func TestKeyRotationCoversChildrenOfRemovedTemplates(t *testing.T) {
	c := settled(t, with(t, apps, "name: maps", "name: maps\n    prunePolicy: Orphan"))
	c.KubectlApply(with(t, apps, "name: maps", "name: others", ".children.maps", ".children.others", "metadata: {name: {{ . }}}", "metadata: {name: {{ . }}-2}"))
	c.Settle()
	c.Keys = reconciletest.KeysOf(t, "1", "2")
	c.start()
	c.Refuse["mark configmaps a"] = errors.New("no answer")
	c.Run()
	delete(c.Refuse, "mark configmaps a")
	c.Settle()
	for _, name := range []string{"a", "b", "a-2", "b-2"} {
		if got := c.SealOf(name); !strings.HasPrefix(got, "2:") {
			t.Errorf("the seal of %s is %q", name, got)
		}
	}
}

// TestObjectNewerThanKeysIsNotSealed creates objects that look like children while older children are being sealed.
func TestObjectNewerThanKeysIsNotSealed(t *testing.T) {
	for why, change := range map[string]func(c *cluster, o *unstructured.Unstructured){
		"it is newer":                func(c *cluster, o *unstructured.Unstructured) { o.SetCreationTimestamp(metav1.NewTime(c.Keys.Since)) },
		"nobody knows how old it is": func(_ *cluster, o *unstructured.Unstructured) { o.SetCreationTimestamp(metav1.Time{}) },
		"its seal is forged with the key that there is": func(_ *cluster, o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1.AnnotationSeal: "9:x:y:maps"})
		},
		"it has no owner, and we hold nothing of it": func(_ *cluster, o *unstructured.Unstructured) {
			o.SetOwnerReferences(nil)
			o.SetManagedFields(nil)
		},
		"we hold nothing of it, and its label names another parent than its owner": func(_ *cluster, o *unstructured.Unstructured) {
			o.SetManagedFields(nil)
			labels := o.GetLabels()
			labels[v1.LabelParentUID] = "other"
			o.SetLabels(labels)
		},
		"another kind of object owns it": func(_ *cluster, o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			owners[0].Kind = "Other"
			o.SetOwnerReferences(owners)
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, apps)
			c.ForgeCopy("a", "copy")
			c.StripSeals("a", "b", "copy")
			c.RenewKeys("9")
			forged := c.Find("configmaps", "copy").DeepCopy()
			change(c, forged)
			c.Store(configMap("copy"), forged)
			before := c.Find("configmaps", "copy").DeepCopy()
			c.start()
			requests := c.Settle()
			slices.Sort(requests)
			wantRequests(t, "with the new key", requests, "update configmaps a", "update configmaps b")
			if diff := cmp.Diff(before, c.Find("configmaps", "copy")); diff != "" {
				t.Errorf("it was changed:\n%s", diff)
			}
		})
	}
}

// While a TemplateController is suspended or rejected, its children can still be sealed later.
func TestUnsealedChildrenAreSealedAfterResume(t *testing.T) {
	suspended := withSpec(t, apps, "suspend: true")
	rejected := with(t, apps, "{{ range .spec.names }}", "{{ range }}")
	for why, manifest := range map[string]string{"suspended": suspended, "rejected": rejected} {
		var reports []string // of the rejection
		if why == "rejected" {
			reports = []string{"status apps one"}
		}
		t.Run(why, func(t *testing.T) {
			c := settled(t, apps)
			c.StripSeals("a", "b")
			c.KubectlApply(manifest)
			c.RenewKeys("9")
			c.start()
			wantRequests(t, "at first", c.Settle(), reports...)
			c.KubectlApply(apps)
			requests := c.Settle()
			slices.Sort(requests)
			wantRequests(t, "then", requests, append(reports, "update configmaps a", "update configmaps b")...)
		})
	}
}

// impersonate changes a child like an apply by another client with templater's field manager.
func (c *cluster) impersonate(name, text string, fields map[string]any) {
	c.T.Helper()
	o := c.Find("configmaps", name).DeepCopy()
	o.Object["data"] = map[string]any{"text": text}
	if fields != nil {
		memserver.Own(o, "templater/apps", "", fields)
	}
	c.Store(configMap(name), o)
	c.Deliver()
}

func (c *cluster) textOf(name string) string {
	text, _, _ := unstructured.NestedString(c.Find("configmaps", name).Object, "data", "text")
	return text
}

// TestDriftUnderOurManagerIsRepaired applies as another client with templater's field manager, with the hash and the seal of the child.
func TestDriftUnderOurManagerIsRepaired(t *testing.T) {
	t.Run("and our entry differs", func(t *testing.T) {
		c := settled(t, apps)
		fields := memserver.Usual.Held(c.Find("configmaps", "a").Object, "")
		fields["f:data"].(map[string]any)["f:more"] = map[string]any{}
		c.impersonate("a", "hidden", fields)
		wantRequests(t, "it is seen", c.Run(), "update configmaps a")
		if got := c.textOf("a"); got != "hello" {
			t.Errorf("the text is %q", got)
		}
		c.Deliver()
		wantRequests(t, "once", c.Run())
	})
	t.Run("and is back as it was", func(t *testing.T) {
		c := settled(t, apps)
		before := c.Find("configmaps", "a").GetManagedFields()
		fields := memserver.Usual.Held(c.Find("configmaps", "a").Object, "")
		delete(fields, "f:data")
		c.impersonate("a", "hidden", fields)
		o := c.Find("configmaps", "a").DeepCopy()
		o.SetManagedFields(before)
		c.Store(configMap("a"), o)
		c.Deliver()
		wantRequests(t, "it was seen", c.Run(), "update configmaps a")
		if got := c.textOf("a"); got != "hello" {
			t.Errorf("the text is %q", got)
		}
		c.Deliver()
		wantRequests(t, "once", c.Run())
	})
	t.Run("while nobody was looking", func(t *testing.T) {
		c := settled(t, apps)
		o := c.Find("configmaps", "a").DeepCopy()
		o.Object["data"] = map[string]any{"text": "hidden"}
		c.Store(configMap("a"), o)
		c.start()
		wantRequests(t, "after a restart", c.Settle(), "update configmaps a")
		if got := c.textOf("a"); got != "hello" {
			t.Errorf("the text is %q", got)
		}
	})
}

func TestNonApplyStrategiesKeepDriftUnderOurManager(t *testing.T) {
	for _, strategy := range []string{"Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := settled(t, withStrategy(t, strategy))
			fields := memserver.Usual.Held(c.Find("configmaps", "a").Object, "")
			fields["f:data"].(map[string]any)["f:more"] = map[string]any{}
			c.impersonate("a", "edited", fields)
			wantRequests(t, strategy, c.Run())
		})
	}
}

// TestAllSealedWaitsForUnsealedChildren tests a child without a seal, after a change.
func TestAllSealedWaitsForUnsealedChildren(t *testing.T) {
	deleting := func(o *unstructured.Unstructured) {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"example.org/wait"})
	}
	stray := func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		labels[v1.LabelParentUID] = "other"
		o.SetLabels(labels)
	}
	unread := func(t *testing.T) *watch.Cache {
		t.Helper()
		cache, err := watch.NewCache(watch.Want{Role: watch.Child}, func(watch.Event) {}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		return cache
	}
	nothing := func(*unstructured.Unstructured) {}
	for why, row := range map[string]struct {
		child, parent func(*unstructured.Unstructured)
		then          func(*testing.T, *controller.Controller)
		strays, want  bool
	}{
		"its parent is there": {nothing, nothing, nil, false, false},
		"its parent is going": {nothing, deleting, nil, false, true},
		"it is going":         {deleting, nothing, nil, false, true},
		"it is going, and not every kind is known": {deleting, nothing, func(_ *testing.T, c *controller.Controller) {
			c.Sources = map[schema.GroupKind]controller.Source{{}: {Err: errors.New("no answer")}}
		}, false, false},
		"it is going, and the parents are not read":          {deleting, nothing, func(t *testing.T, c *controller.Controller) { c.Parents[""] = unread(t) }, false, false},
		"its parent is not there, for a while":               {stray, nothing, nil, true, false},
		"its parent is not there, for long":                  {stray, nothing, nil, false, true},
		"its parent is not there, and nobody will delete it": {func(o *unstructured.Unstructured) { stray(o); o.SetOwnerReferences(nil) }, nothing, nil, true, true},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, apps)
			c.StripSeals("a")
			c.RemoveNow(configMap("b"))
			c.RenewKeys("9")
			for at, change := range map[request.Location]func(*unstructured.Unstructured){configMap("a"): row.child, reconciletest.AppAt("one"): row.parent} {
				o := c.Objects[at].DeepCopy()
				change(o)
				c.Store(at, o)
			}
			c.start()
			c.RunControllers()
			running := c.controllers.get("apps")
			if row.then != nil {
				c.restless = true // the running controller was edited
				row.then(t, running)
			}
			if got := running.AllSealed(row.strays); got != row.want {
				t.Errorf("all are sealed: %v, want %v", got, row.want)
			}
		})
	}
}

func TestOnlyOwnDeletedChildIsRemembered(t *testing.T) {
	c := settled(t, apps)
	c.ForgeCopy("a", "copy")
	c.Run()
	known := map[string]*unstructured.Unstructured{}
	for _, name := range []string{"a", "copy"} {
		o := c.Find("configmaps", name).DeepCopy()
		o.SetAnnotations(nil)
		known[name] = o
		c.RemoveNow(configMap(name))
	}
	c.Deliver()
	for name, want := range map[string]bool{"a": true, "copy": false} {
		o := known[name]
		o.SetLabels(nil)
		if got := c.controllers.get("apps").Factory.Ours(packed(t, o), schema.GroupKind{Kind: "ConfigMap"}, seal.Parent{UID: "uid-one", Name: configMapName("one")}); got != want {
			t.Errorf("%s counts as ours once it has gone: %v, want %v", name, got, want)
		}
	}
}

// TestAllUnsealedChildrenKeepAdoptionActive has two children, one of which keeps adoption active, in any order.
func TestAllUnsealedChildrenKeepAdoptionActive(t *testing.T) {
	for _, stray := range []string{"a", "b"} {
		t.Run(stray, func(t *testing.T) {
			c := settled(t, apps)
			c.StripSeals("a", "b")
			c.RenewKeys("9")
			o := c.Objects[configMap(stray)].DeepCopy()
			labels := o.GetLabels()
			labels[v1.LabelParentUID] = "other"
			o.SetLabels(labels)
			c.Store(configMap(stray), o)
			c.start()
			c.RunControllers()
			for range 20 { // in any order
				if c.controllers.get("apps").AllSealed(false) {
					t.Fatalf("the one beside %s does not count", stray)
				}
			}
		})
	}
}
