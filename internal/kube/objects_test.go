package kube

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

func TestObjectsRequests(t *testing.T) {
	content := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "resourceVersion": "7"}}}
	const path = "/api/v1/namespaces/ns/configmaps/a"
	for name, row := range map[string]struct {
		call func(*testing.T, *Objects) error
		want string
	}{
		"get": {func(t *testing.T, o *Objects) error {
			got, err := o.Get(t.Context(), a)
			if got.GetUID() != "u" {
				t.Errorf("Get returns %v, want the object as the server has it", got)
			}
			return err
		}, "GET " + path + "?  "},
		"list": {func(t *testing.T, o *Objects) error {
			_, err := o.List(t.Context(), a.Resource, "a=b")
			return err
		}, "GET /api/v1/configmaps?labelSelector=a%3Db  "},
		"watch": {func(t *testing.T, o *Objects) error {
			w, err := o.Watch(t.Context(), a, "7")
			if err == nil {
				w.Stop()
			}
			return err
		}, "GET /api/v1/namespaces/ns/configmaps?fieldSelector=metadata.name%3Da&resourceVersion=7&watch=true  "},
		"merge": {func(t *testing.T, o *Objects) error {
			return o.Merge(t.Context(), a, map[string]any{"data": nil}, "m")
		}, "PATCH " + path + `?fieldManager=m application/merge-patch+json {"data":null}`},
		"update": {func(t *testing.T, o *Objects) error {
			return o.Update(t.Context(), a, content, request.Update{Manager: "m"})
		}, "PUT " + path + `?fieldManager=m application/json {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7"}}`},
		"try to update": {func(t *testing.T, o *Objects) error {
			return o.Update(t.Context(), a, content, request.Update{Manager: "m", DryRun: true})
		}, "PUT " + path + `?dryRun=All&fieldManager=m application/json {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got = r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery + " " + r.Header.Get("Content-Type") + " " + strings.TrimSpace(string(text))
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answered)
			}))
			defer server.Close()
			client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if err := row.call(t, NewObjects(client)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
