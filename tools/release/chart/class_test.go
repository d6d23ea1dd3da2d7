package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The second installation is that of docs/operate/second-installation.md.
func TestChartWithClassName(t *testing.T) {
	got := mustTemplate(t, "templater-b", "className: b")
	want := []string{
		"ClusterRole templater-b",
		"ClusterRole templater-children-b",
		"ClusterRole templater-editor-b",
		"ClusterRole templater-namespaced-editor-b",
		"ClusterRoleBinding templater-b",
		"ClusterRoleBinding templater-children-b",
		"Deployment templater-b in templater-b",
		"PodDisruptionBudget templater-b in templater-b",
		"Role templater-b in templater-b",
		"Role templater-b in templater-system",
		"RoleBinding templater-b in templater-b",
		"RoleBinding templater-b in templater-system",
		"Service templater-webhook-b in templater-b",
		"ServiceAccount templater-b in templater-b",
		"ValidatingWebhookConfiguration templater-b",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	const account = `{"kind":"ServiceAccount","name":"templater-b","namespace":"templater-b"}`
	for _, row := range []struct {
		object string
		path   []any
		want   string
	}{
		{"Deployment templater-b in templater-b", inContainer("args"), `["run","--leader-elect","--metrics-bind-address=:8080","--health-probe-bind-address=:8081","--log-format=json","--webhook-bind-address=:9443","--class-name=b","--seal-namespace=templater-system"]`},
		{"Deployment templater-b in templater-b", path("spec", "template", "spec", "serviceAccountName"), `"templater-b"`},
		{"Role templater-b in templater-b", path("rules", 0, "resourceNames"), `["templater-b"]`},
		{"Role templater-b in templater-b", path("rules", 2, "resourceNames"), `["templater-b-webhook"]`},
		{"Role templater-b in templater-system", path("rules"), `[{"apiGroups":[""],"resourceNames":["templater-seal"],"resources":["secrets"],"verbs":["list","watch"]}]`},
		{"ClusterRole templater-b", path("rules", 6, "resourceNames"), `["templater-b"]`},
		{"RoleBinding templater-b in templater-b", path("roleRef", "name"), `"templater-b"`},
		{"RoleBinding templater-b in templater-b", path("subjects", 0), account},
		{"RoleBinding templater-b in templater-system", path("roleRef", "name"), `"templater-b"`},
		{"RoleBinding templater-b in templater-system", path("subjects", 0), account},
		{"ClusterRoleBinding templater-children-b", path("roleRef", "name"), `"templater-children-b"`},
		{"ClusterRoleBinding templater-children-b", path("subjects", 0), account},
		{"ValidatingWebhookConfiguration templater-b", path("webhooks", 0, "clientConfig", "service"), `{"name":"templater-webhook-b","namespace":"templater-b","path":"/validate-templatecontrollers"}`},
		{"ValidatingWebhookConfiguration templater-b", path("webhooks", 0, "name"), `"templatecontrollers.templater.dev"`},
	} {
		if found := got.get(t, row.object, row.path...); found != row.want {
			t.Errorf("%s %v: got %s, want %s", row.object, row.path, found, row.want)
		}
	}
	for key, o := range got {
		if label := got.get(t, key, "metadata", "labels", "app.kubernetes.io/part-of"); label != `"templater-b"` {
			t.Errorf("%s is part of %s: %v", key, label, o)
		}
	}
}

// TestInstallationWithOwnSealKeys expects the permission on the keys if they are in the namespace of the release.
func TestInstallationWithOwnSealKeys(t *testing.T) {
	for values, role := range map[string]string{"{}": "Role templater in ns", "{className: b, sealNamespace: ns}": "Role templater-b in ns"} {
		got := mustTemplate(t, "ns", values)
		if names := got.get(t, role, "rules", 2, "resourceNames", 0); names != `"templater-seal"` {
			t.Errorf("%s: the role has %s, want templater-seal", values, names)
		}
		for key := range got {
			if strings.HasSuffix(key, "in templater-system") {
				t.Errorf("%s: there is %s", values, key)
			}
		}
	}
}

func TestPolicyListsAllServiceAccounts(t *testing.T) {
	const policy = "ValidatingAdmissionPolicy templater"
	for values, want := range map[string]string{
		"{}":                                     `"{'': 'elsewhere/templater'}"`,
		"accounts: {b: templater-b/templater-b}": `"{'': 'elsewhere/templater', 'b': 'templater-b/templater-b'}"`,
	} {
		if got := mustTemplate(t, "elsewhere", values).get(t, policy, "spec", "variables", 0, "expression"); got != want {
			t.Errorf("%s: got %s, want %s", values, got, want)
		}
	}
}

func TestReleaseNamespaceIsUsedEverywhere(t *testing.T) {
	for key := range mustTemplate(t, "elsewhere", "{}") {
		if strings.HasSuffix(key, "in templater-system") {
			t.Errorf("%s: the release is in another namespace", key)
		}
	}
}
