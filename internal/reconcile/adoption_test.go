package reconcile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
)

const (
	ifConsented = "adoption: IfConsented"
	consent     = "TemplateController/apps/uid-one"
	// strangers is an object of somebody else with the name of a child.
	strangers = `
apiVersion: v1
kind: ConfigMap
metadata: {namespace: ns, name: a, labels: {app.kubernetes.io/managed-by: Helm}}
data: {text: theirs, other: theirs}
`
	noConsent = "False ChildConflict: ConfigMap ns/a already exists and has no owner; to give it to this object, which then deletes it by the rules for children: kubectl annotate configmaps a -n ns templater.dev/adopt=" + consent + "; otherwise delete it, or choose another name in the template"
)

func (c *cluster) consents(value string) {
	c.KubectlEdit(configMap("a"), setAnnotations(map[string]string{v1.AnnotationAdopt: value}))
}

func setAnnotations(all map[string]string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { o.SetAnnotations(all) }
}

func TestAdoptionByConsent(t *testing.T) {
	for strategy, row := range map[string]struct {
		requests []string
		data     map[string]any
	}{
		"Apply":      {[]string{"create configmaps a", "get configmaps a", "get apps one", "update configmaps a", "mark configmaps a", "status apps one"}, map[string]any{"text": "hello", "other": "theirs"}},
		"CreateOnly": {[]string{"create configmaps a", "get configmaps a", "get apps one", "mark configmaps a", "status apps one"}, map[string]any{"text": "theirs", "other": "theirs"}},
		"OnDelete":   {[]string{"create configmaps a", "get configmaps a", "get apps one", "mark configmaps a", "status apps one"}, map[string]any{"text": "theirs", "other": "theirs"}},
	} {
		t.Run(strategy, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withTemplate(t, withStrategy(t, strategy), ifConsented))
			uid := c.KubectlApply(strangers).GetUID()
			c.KubectlApply(newApp(withChildren("a")))
			wantRequests(t, "without consent", c.Run(), "create configmaps a", "get configmaps a", "status apps one")
			c.WantReady(noConsent)
			c.consents(consent)
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, "with consent", requests, row.requests...)
			c.Deliver()
			o := c.Find("configmaps", "a")
			if diff := cmp.Diff(row.data, o.Object["data"]); diff != "" || o.GetUID() != uid {
				t.Errorf("UID %s, want %s; data (-want +got):\n%s", o.GetUID(), uid, diff)
			}
			if _, has := o.GetAnnotations()[v1.AnnotationAdopt]; has {
				t.Error("the consent is still there")
			}
			c.Run()
			wantRequests(t, "again", c.Run())
			c.start()
			wantRequests(t, "after a restart", c.Run())
			c.KubectlApply(newApp(withChildren("b")))
			c.Run()
			if c.Find("configmaps", "a") != nil {
				t.Error("the adopted object was not pruned")
			}
		})
	}
}

func TestAdoptionIsRefused(t *testing.T) {
	const refused = "False ChildConflict: ConfigMap ns/a already exists and "
	const remedy = ": templater does not adopt it; delete it, or choose another name in the template"
	for why, row := range map[string]struct {
		adoption string
		change   func(*unstructured.Unstructured)
		want     string
	}{
		"the definition does not adopt": {
			"adoption: Never", setAnnotations(map[string]string{v1.AnnotationAdopt: consent}), refused + "has no owner" + remedy,
		},
		"the consent names another parent": {
			ifConsented, setAnnotations(map[string]string{v1.AnnotationAdopt: "TemplateController/apps/uid-two"}), noConsent,
		},
		"the consent names another definition": {
			ifConsented, setAnnotations(map[string]string{v1.AnnotationAdopt: "TemplateController/other/uid-one"}), noConsent,
		},
		"the object has a controller": {
			ifConsented, func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{v1.AnnotationAdopt: consent})
				o.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "Other", "name": "x", "uid": "u", "controller": true}}
			}, refused + "belongs to Other x" + remedy,
		},
		"another TemplateController labels the object": {
			ifConsented, func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{v1.AnnotationAdopt: consent})
				o.SetLabels(map[string]string{v1.LabelController: "second"})
			}, refused + "belongs to TemplateController second" + remedy,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withTemplate(t, apps, row.adoption))
			c.KubectlApply(strangers)
			c.KubectlEdit(configMap("a"), row.change)
			before := c.Find("configmaps", "a").DeepCopy()
			c.KubectlApply(newApp(withChildren("a")))
			wantRequests(t, why, c.Run(), "create configmaps a", "get configmaps a", "status apps one")
			c.WantReady(row.want)
			if diff := cmp.Diff(before, c.Find("configmaps", "a")); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
		})
	}
}

// TestConsentIsWithdrawn has the owner change the object between templater's read and its write.
func TestConsentIsWithdrawn(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, ifConsented))
	c.KubectlApply(strangers)
	c.consents(consent)
	requests := 0
	c.During = func() {
		if requests++; requests == 4 { // the update
			o := c.Find("configmaps", "a").DeepCopy()
			o.SetAnnotations(nil)
			c.Store(configMap("a"), o)
		}
	}
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "withdrawn", c.Run(), "create configmaps a", "get configmaps a", "get apps one", "update configmaps a", "get configmaps a", "status apps one")
	if diff := cmp.Diff(map[string]any{"text": "theirs", "other": "theirs"}, c.data("a")); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	c.Reconcile("apps", "one")
	c.WantReady(noConsent)
}
