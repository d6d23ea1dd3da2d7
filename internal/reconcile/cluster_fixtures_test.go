package reconcile_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func wantRequests(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}

func plus(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

const secret = "s3cr3t"

func answer(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

// take empties the queue and returns its keys, "CONTROLLER/PARENT".
func take(q queue.Queue) []string {
	out := []string{}
	for q.Len() > 0 {
		key, _ := q.Get()
		out = append(out, key.Controller+"/"+key.Parent.Name)
		q.Done(key)
	}
	return out
}

func manyKeys(controller string, n int) []queue.Key {
	keys := make([]queue.Key, n)
	for i := range keys {
		keys[i] = keyOf(controller, fmt.Sprint(i))
	}
	return keys
}

// lengths adds up the lengths of the maps and lists at these paths below v, such as "lines.KEY.places".
func lengths(t *testing.T, v any, paths ...string) int {
	t.Helper()
	sum := 0
	for _, path := range paths {
		if at := reach(t, reflect.ValueOf(v), strings.Split(path, ".")); at.IsValid() {
			sum += at.Len()
		}
	}
	return sum
}

// reach follows a path of fields and keys. What it returns is not valid where a map has no such key.
func reach(t *testing.T, v reflect.Value, path []string) reflect.Value {
	t.Helper()
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case len(path) == 0 || !v.IsValid():
		return v
	case v.Kind() == reflect.Map:
		return reach(t, v.MapIndex(reflect.ValueOf(path[0])), path[1:])
	}
	field := v.FieldByName(path[0])
	if !field.IsValid() {
		t.Fatalf("%s has no %s", v.Type(), path[0])
	}
	return reach(t, field, path[1:])
}

// appIn is a parent with that many ConfigMaps.
func appIn(name types.NamespacedName, children int) *unstructured.Unstructured {
	names := make([]any, 0, children)
	for i := range children {
		names = append(names, fmt.Sprint("child-", i))
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "App", "spec": map[string]any{"names": names, "text": "x"},
	}}
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	o.SetUID(types.UID("uid-" + name.Namespace))
	return o
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil }); err != nil {
		t.Fatalf("never: %s", what)
	}
}

// painter is a TemplateController that writes a status alone.
func painter(name, status string) string {
	return `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: ` + name + `}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  status:
    readyCondition: ` + strings.ToUpper(name) + `
    template: '` + status + `'
`
}

// painted is the status of the parent, without conditions.
func painted(c *cluster) map[string]any {
	status, _, _ := unstructured.NestedMap(c.get("apps", "one").Object, "status")
	delete(status, "conditions")
	return status
}

func wantStatus(t *testing.T, why string, c *cluster, want map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want, painted(c)); diff != "" {
		t.Errorf("%s: status (-want +got):\n%s", why, diff)
	}
}

func controllerAt(name string) request.Location {
	return request.Location{Resource: v1.Resource, Name: name}
}

func appAt(name string) request.Location {
	return request.Location{Resource: fakeKinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Namespace: "ns", Name: name}
}

var appsController = request.Location{Resource: v1.Resource, Name: "apps"}
