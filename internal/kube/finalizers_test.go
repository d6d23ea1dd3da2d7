package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

func TestEachVisitsObjectsAcrossPages(t *testing.T) {
	const item = `{"metadata":{"namespace":"ns","name":%q,"resourceVersion":"7","finalizers":[%s]}}`
	var queries []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("continue") == "" {
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"continue":"next"},"items":[`+item+","+item+`]}`, "one", `"f"`, "two", `"g"`)
			return
		}
		fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[`+item+`]}`, "three", `"g","f","h"`)
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var got []request.Holder
	err = client.Each(t.Context(), a.Resource, "", func(o *object.Object) {
		if h, holds := request.HolderOf(o, "f"); holds {
			got = append(got, h)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	name := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	if diff := cmp.Diff([]request.Holder{{Name: name("one"), Version: "7"}, {Name: name("three"), Version: "7", Others: []string{"g", "h"}}}, got); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"limit=500", "continue=next&limit=500"}, queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	failing, _ := serve(t, http.StatusForbidden, denied)
	if err := failing.Each(t.Context(), a.Resource, "", func(*object.Object) {}); err == nil {
		t.Error("no error of a list that is forbidden")
	}
}
