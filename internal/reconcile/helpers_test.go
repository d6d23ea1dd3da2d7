package reconcile

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/queue"

	"github.com/templater-dev/templater/internal/kind"
)

// configMaps is the kind of aConfigMap.
var configMaps = kind.Kind{Kind: "ConfigMap", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}

const aConfigMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a, resourceVersion: '1', uid: u}}"

// packed is the object as the operator reads it.
func packed(t testing.TB, o *unstructured.Unstructured) *object.Object {
	t.Helper()
	p, err := object.From(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// parse reads one YAML document.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return u
}

// with replaces text in a manifest; it must be there.
func with(t *testing.T, manifest string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(manifest, pairs[i]) {
			t.Fatalf("the manifest lacks %q", pairs[i])
		}
		manifest = strings.Replace(manifest, pairs[i], pairs[i+1], 1)
	}
	return manifest
}

// answer is what the server answers where it refuses something.
func answer(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

const app = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a, b], text: hello}
`
