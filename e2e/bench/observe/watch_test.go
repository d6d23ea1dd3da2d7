package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestWatchResumesAfterServerClose(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" from "+r.URL.Query().Get("resourceVersion"))
		if len(asked) == 1 {
			fmt.Fprintln(w, `{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}`)
			fmt.Fprintln(w, `{"type":"DELETED","object":{"metadata":{"name":"b","resourceVersion":"8"}}}`)
			return
		}
		fmt.Fprintln(w, `{"type":"MODIFIED","object":{"metadata":{"name":"c","resourceVersion":"9"}}}`)
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	set := Set{Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "things"}, Namespace: "one"}
	err = client.Watch(t.Context(), set, "5", func(o *Object) bool {
		seen = append(seen, o.Metadata.Name)
		return len(seen) < 2
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "c"}, seen); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	const path = "/apis/example.org/v1/namespaces/one/things from "
	if diff := cmp.Diff([]string{path + "5", path + "7"}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestWatchErrorsAreReturned(t *testing.T) {
	for why, answer := range map[string]func(http.ResponseWriter){
		"the server refuses":       func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
		"the version is too old":   func(w http.ResponseWriter) { fmt.Fprintln(w, `{"type":"ERROR","object":{}}`) },
		"the answer is no JSON":    func(w http.ResponseWriter) { fmt.Fprintln(w, `<html>`) },
		"the answer breaks off":    func(w http.ResponseWriter) { fmt.Fprint(w, `{"type":"ADDED",`) },
		"the object is of no kind": func(w http.ResponseWriter) { fmt.Fprint(w, `{"type":"ADDED","object":7}`) },
	} {
		t.Run(why, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Watch(t.Context(), Set{}, "0", func(*Object) bool { return true }); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestConditionMustBeTrueAndCurrent(t *testing.T) {
	for why, row := range map[string]struct {
		generation int64
		conditions []Condition
		want       bool
	}{
		"true and current":           {2, []Condition{{"Other", "False", 2}, {"Ready", "True", 2}}, true},
		"true of an earlier spec":    {2, []Condition{{"Ready", "True", 1}}, false},
		"not true":                   {2, []Condition{{"Ready", "False", 2}}, false},
		"another condition is true":  {2, []Condition{{"Other", "True", 2}}, false},
		"no condition was ever made": {2, nil, false},
	} {
		t.Run(why, func(t *testing.T) {
			o := &Object{}
			o.Metadata.Generation, o.Status.Conditions = row.generation, row.conditions
			if got := o.Is("Ready"); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}
