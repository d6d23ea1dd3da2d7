package reconciletest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Requests that many tests expect.
const (
	ReadParent    = "get apps one"                                     // reads the API server time
	HoldParent    = "finalizers[finalize.templater.dev/apps] apps one" // adds the finalizer
	ReleaseParent = "finalizers[] apps one"                            // removes the finalizer
)

// WantRequests compares requests.
func WantRequests(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}

// WantNoDeletion fails the test if a request deletes an object.
func WantNoDeletion(t *testing.T, requests []string) {
	t.Helper()
	if slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, "delete") }) {
		t.Errorf("requests %v: one of them deletes", requests)
	}
}

// Lengths returns the sum of the lengths of the maps and lists at these paths below v, such as "lines.KEY.places".
func Lengths(t *testing.T, v any, paths ...string) int {
	t.Helper()
	sum := 0
	for _, path := range paths {
		if at := reach(t, reflect.ValueOf(v), strings.Split(path, ".")); at.IsValid() {
			sum += at.Len()
		}
	}
	return sum
}

// reach follows a path of fields and keys. It returns an invalid value if a map has no such key.
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

// Plus returns a copy of m with another key.
func Plus(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}
