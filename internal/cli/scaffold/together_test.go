package scaffold

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// TestManifestsThatBelongTogether has a Namespace, an account with its binding, and a Deployment with an autoscaler.
func TestManifestsThatBelongTogether(t *testing.T) {
	set, err := manifest.Parse("all.yaml", `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}, {kind: ServiceAccount, name: other, namespace: shop}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromManifests(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}, set.Objects, false)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range got.Files {
		text += f.Content
	}
	if strings.Contains(text, "kind: Namespace\n") || strings.Contains(text, "replicas") || strings.Count(text, "namespace: {{ .metadata.namespace }}") != 1 || !strings.Contains(text, "name: other\n        namespace: shop\n") {
		t.Errorf("got\n%s", text)
	}
	if len(got.Notes) != 1 || got.Notes[0].Line != 1 {
		t.Errorf("got notes %v", got.Notes)
	}
	only, err := FromManifests(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}, set.Objects[:1], false)
	if err != nil || len(only.Notes) > 0 {
		t.Errorf("only a Namespace: got notes %v and error %v", only, err)
	}
}
