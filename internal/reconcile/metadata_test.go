package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// edits returns edits of a TemplateController that do not change the desired content of the objects.
func edits(t *testing.T, strategy string) map[string][2]string {
	t.Helper()
	plain := withTemplate(t, apps, "updateStrategy: {type: "+strategy+"}")
	return map[string][2]string{
		"prunePolicy becomes Orphan":    {plain, withTemplate(t, plain, "prunePolicy: Orphan")},
		"prunePolicy becomes Delete":    {withTemplate(t, plain, "prunePolicy: Orphan"), plain},
		"deletionPolicy becomes Orphan": {plain, withTemplate(t, plain, "deletionPolicy: Orphan")},
		"deletionPolicy becomes Delete": {withTemplate(t, plain, "deletionPolicy: Orphan"), plain},
		"the entry has another name":    {plain, with(t, plain, "- name: maps", "- name: files", ".children.maps", ".children.files")},
	}
}

// TestMetadataChangesDoNotReplaceChildren edits policies and names: no object is replaced, and each has the same metadata as a new one.
func TestMetadataChangesDoNotReplaceChildren(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		for why, edit := range edits(t, strategy) {
			t.Run(strategy+": "+why, func(t *testing.T) {
				fresh := newCluster(t)
				fresh.KubectlApply(edit[1])
				fresh.KubectlApply(app)
				fresh.Run()
				c := newCluster(t)
				c.KubectlApply(edit[0])
				c.KubectlApply(app)
				c.Run()
				c.Deliver()
				edited := c.Find("configmaps", "a").DeepCopy()
				edited.SetLabels(reconciletest.Plus(edited.GetLabels(), "mine", "yes"))
				edited.SetOwnerReferences(append(edited.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}))
				if strategy != "Apply" {
					edited.Object["data"] = map[string]any{"text": "edited"}
				}
				c.Store(configMap("a"), edited)
				c.Deliver()
				c.Run()
				uid := edited.GetUID()

				c.KubectlApply(edit[1])
				verb := map[bool]string{true: "update", false: "mark"}[strategy == "Apply"]
				requests := c.Run()
				if why == "deletionPolicy becomes Delete" && len(requests) > 0 && requests[0] == "get apps one" {
					requests = requests[1:] // an owner reference needs a request before
				}
				if len(requests) < 2 || requests[0] != verb+" configmaps a" || requests[1] != verb+" configmaps b" {
					t.Errorf("requests %v, want to %s both objects", requests, verb)
				}
				got, want := c.Find("configmaps", "a"), fresh.Find("configmaps", "a")
				if got.GetUID() != uid {
					t.Error("the object was replaced")
				}
				labels, owners := want.GetLabels(), want.GetOwnerReferences()
				labels, owners = reconciletest.Plus(labels, "mine", "yes"), append([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}}, owners...)
				if strategy != "Apply" {
					if diff := cmp.Diff(edited.Object["data"], got.Object["data"]); diff != "" {
						t.Errorf("data (-want +got):\n%s", diff)
					}
				}
				if diff := cmp.Diff(labels, got.GetLabels()); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want.GetAnnotations(), got.GetAnnotations(), cmpopts.IgnoreMapEntries(func(key, _ string) bool { return key == v1.AnnotationSeal })); diff != "" {
					t.Errorf("annotations (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(owners, got.GetOwnerReferences(), cmpopts.SortSlices(func(a, b metav1.OwnerReference) bool { return a.Name < b.Name })); diff != "" {
					t.Errorf("owner references (-want +got):\n%s", diff)
				}
				c.Deliver()
				c.Run()
				_, again := c.Reconcile("apps", "one")
				wantRequests(t, "the reconciliation after", again)
				if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True ") {
					t.Errorf("ready condition is %q", got)
				}
			})
		}
	}
}

// An apply only removes fields without other owners, and a patch makes its manager another owner.
func TestPolicyAnnotationsAreRemovedUnderApply(t *testing.T) {
	keeps := withTemplate(t, withStrategy(t, "CreateOnly"), "prunePolicy: Orphan", "deletionPolicy: Orphan")
	c := newCluster(t)
	c.KubectlApply(withStrategy(t, "CreateOnly"))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(keeps)
	wantRequests(t, "the policies keep the objects", c.Run(), "mark configmaps a", "mark configmaps b")
	c.Deliver()
	c.KubectlApply(apps)
	wantRequests(t, "they do no longer, under Apply", c.Run(), "get apps one", "update configmaps a", "mark configmaps a", "update configmaps b", "mark configmaps b")
	if got := c.Find("configmaps", "a").GetAnnotations(); got[v1.AnnotationPrune]+got[v1.AnnotationParent] != "" {
		t.Errorf("annotations are %v, want none of the policies", got)
	}
	c.Deliver()
	c.Run()
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "again", again)
}

func TestMetadataPatchHandlesConcurrentChange(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*cluster)
		want   string
		retry  problem.Retry
		asks   bool // whether the object is read after a conflict
	}{
		"it has another owner, too": {func(c *cluster) {
			o := c.Find("configmaps", "a").DeepCopy()
			o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}))
			c.Store(configMap("a"), o)
		}, "ConfigMap ns/a is being replaced", problem.RetrySoon, true},
		"it is gone": {func(c *cluster) { c.Remove(configMap("a")) }, "ConfigMap ns/a was just deleted", problem.RetryNow, false},
		"it is another one": {func(c *cluster) {
			o := c.Find("configmaps", "a").DeepCopy()
			o.SetUID("uid-other")
			c.Store(configMap("a"), o)
		}, "ConfigMap ns/a is being replaced", problem.RetrySoon, true},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, "CreateOnly"))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.KubectlApply(withTemplate(t, withStrategy(t, "CreateOnly"), "deletionPolicy: Orphan"))
			c.RunControllers()
			row.change(c) // not delivered by the watch
			result, requests := c.Reconcile("apps", "one")
			want := []string{"mark configmaps a", "get configmaps a", "mark configmaps b", "status apps one"}
			if !row.asks {
				want = slices.Delete(want, 1, 2)
			}
			wantRequests(t, "it has no owner now", requests, want...)
			if got := c.Condition("apps", "one", "Ready"); got != "False Progressing: "+row.want || result.Retry != row.retry {
				t.Errorf("ready condition %q and retry %v, want %q and %v", got, result.Retry, row.want, row.retry)
			}
			c.Deliver()
			c.Run()
			c.Deliver()
			for _, owner := range c.Find("configmaps", "a").GetOwnerReferences() {
				if owner.Kind == "App" {
					t.Errorf("the object still has the owner %v", owner)
				}
			}
		})
	}
}

func TestLabelChangesAreWrittenUnderEveryStrategy(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, strategy))
			c.KubectlApply(app)
			c.Run()
			o := c.Find("configmaps", "a").DeepCopy()
			want := o.GetLabels()
			o.SetLabels(map[string]string{v1.LabelController: "apps", v1.LabelParentUID: "uid-one"})
			c.Store(configMap("a"), o)
			c.Deliver()
			verb := map[bool]string{true: "update", false: "mark"}[strategy == "Apply"]
			wantRequests(t, "as an earlier version has made it", c.Run(), verb+" configmaps a")
			if diff := cmp.Diff(want, c.Find("configmaps", "a").GetLabels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			_, again := c.Reconcile("apps", "one")
			wantRequests(t, "again", again)
		})
	}
}

func TestManagedByLabelFromTemplateIsKept(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "{name: {{ . }}}", "{name: {{ . }}, labels: {app.kubernetes.io/managed-by: team}}"))
	c.KubectlApply(app)
	c.Run()
	if got := c.Find("configmaps", "a").GetLabels()[v1.LabelManagedBy]; got != "team" {
		t.Errorf("label %s is %q, want the author's", v1.LabelManagedBy, got)
	}
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "again", again)
}

// The metadata of an undesired object that is kept determines how long, once its child template is removed.
func TestKeptObjectsFollowTemplatePolicies(t *testing.T) {
	for why, row := range map[string]struct {
		entry, again []string // lines of the child template
		parent       string
		want         []string
	}{
		"prunePolicy becomes Orphan in the edit that wants them no longer": {
			nil, []string{"prunePolicy: Orphan"}, newApp(withChildren()), []string{"mark configmaps a", "mark configmaps b", "status apps one"},
		},
		"unpruned objects are to outlive their parent": {
			[]string{"prunePolicy: Orphan"}, []string{"prunePolicy: Orphan", "deletionPolicy: Orphan"}, newApp(withChildren()), []string{"mark configmaps a", "mark configmaps b", "status apps one"},
		},
		"the template fails": {
			nil, []string{"prunePolicy: Orphan", "deletionPolicy: Orphan"}, with(t, app, ", text: hello", ""), []string{"mark configmaps a", "mark configmaps b", "status apps one"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withTemplate(t, apps, row.entry...))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.KubectlApply(withTemplate(t, withSpec(t, apps, "suspend: true"), row.again...))
			c.Run()
			c.KubectlApply(row.parent)
			c.Run()
			c.KubectlApply(withTemplate(t, apps, row.again...))
			wantRequests(t, "the edit", c.Run(), row.want...)
			c.Deliver()
			c.KubectlApply(with(t, apps, "- name: maps", "- name: other", "{{ range .spec.names }}", "{{ range list }}", ".children.maps", ".children.other"))
			for _, request := range c.Run() {
				if request == "delete configmaps a" {
					t.Error("what was to stay is gone with its entry")
				}
			}
		})
	}
}

func TestEditedChildMetadataIsRestored(t *testing.T) {
	manage := func(o *unstructured.Unstructured) { o.SetLabels(reconciletest.Plus(o.GetLabels(), "x", "y")) }
	take := func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		labels[v1.LabelManagedBy] = "other"
		o.SetLabels(labels)
	}
	refer := func(change func(*metav1.OwnerReference)) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			change(&owners[0])
			o.SetOwnerReferences(owners)
		}
	}
	for why, row := range map[string]struct {
		strategy string
		do       func(*unstructured.Unstructured)
		want     []string
	}{
		"another label is nobody's business":                    {"Apply", manage, nil},
		"Apply takes the common label back":                     {"Apply", take, []string{"update configmaps a"}},
		"other strategies leave an edit of it alone":            {"CreateOnly", take, nil},
		"the owner reference names the version that is watched": {"CreateOnly", refer(func(r *metav1.OwnerReference) { r.APIVersion = "example.org/v0" }), []string{"mark configmaps a"}},
		"the child blocks the deletion of its parent":           {"CreateOnly", refer(func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = nil }), []string{"mark configmaps a"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, row.strategy))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.KubectlEdit(configMap("a"), row.do)
			wantRequests(t, "the edit", c.Run(), row.want...)
			c.Deliver()
			c.Run()
			_, again := c.Reconcile("apps", "one")
			wantRequests(t, "again", again)
		})
	}
}
