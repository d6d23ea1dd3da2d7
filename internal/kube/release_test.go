package kube

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

// TestReleaseFields has an object that others change between read and write, as often as conflicts says.
func TestReleaseFields(t *testing.T) {
	const (
		object  = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","resourceVersion":"%d","managedFields":[{"manager":"%s","operation":"Apply","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}}]},"data":{"a":"1"}}`
		changed = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"changed"}`
		patch   = `{"metadata":{"managedFields":[{"fieldsV1":{"f:data":{"f:b":{}}},"manager":"templater/x","operation":"Apply"}],"resourceVersion":"%d","uid":"u"}}`
	)
	for why, row := range map[string]struct {
		conflicts int
		manager   string
		uid       string
		patches   int
		conflict  bool
	}{
		"nobody interferes":             {manager: "templater/x", uid: "u", patches: 1},
		"the object changes meanwhile":  {conflicts: 2, manager: "templater/x", uid: "u", patches: 3},
		"the object changes always":     {conflicts: 9, manager: "templater/x", uid: "u", patches: 5, conflict: true},
		"somebody else owns the fields": {manager: "other", uid: "u"},
		"the object was replaced":       {manager: "templater/x", uid: "v", conflict: true},
	} {
		t.Run(why, func(t *testing.T) {
			var patches, want []string
			version := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodGet {
					version++
					fmt.Fprintf(w, object, version, row.manager)
					return
				}
				body, _ := io.ReadAll(r.Body)
				patches = append(patches, string(body))
				if len(patches) <= row.conflicts {
					w.WriteHeader(http.StatusConflict)
					_, _ = io.WriteString(w, changed)
					return
				}
				_, _ = io.WriteString(w, answered)
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			o, err := client.ReleaseFields(t.Context(), a, request.Release{UID: "u", Manager: "templater/x", Paths: [][]string{{"data", "a"}}})
			if row.uid != "u" {
				_, err = client.ReleaseFields(t.Context(), a, request.Release{UID: "v", Manager: "templater/x", Paths: [][]string{{"data", "a"}}})
				patches = nil
			}
			for n := range row.patches {
				want = append(want, fmt.Sprintf(patch, n+1))
			}
			if diff := cmp.Diff(want, patches); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
			if apierrors.IsConflict(err) != row.conflict || err == nil && o.UID() != "u" {
				t.Errorf("got %v, %v; want a conflict: %v", o, err, row.conflict)
			}
		})
	}
	missing, _ := serve(t, http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"NotFound","details":{"name":"a","kind":"configmaps"},"code":404}`)
	if _, err := missing.ReleaseFields(t.Context(), a, request.Release{}); !request.MissingObject(err) {
		t.Errorf("got %v for an object that does not exist", err)
	}
	list, _ := serve(t, http.StatusOK, `[]`)
	if _, err := list.ReleaseFields(t.Context(), a, request.Release{}); !apierrors.IsInternalError(err) {
		t.Errorf("got %v for a response that is no object", err)
	}
}
