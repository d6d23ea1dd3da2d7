package kube

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// seenRequest is a request that the server received.
type seenRequest struct {
	Method, Path, Query, ContentType string
	Body                             any
	As                               string
}

// serve returns a client for a server that responds with status and body. It also returns the last request.
func serve(t *testing.T, status int, body string) (*Client, *seenRequest) {
	t.Helper()
	seen := &seenRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*seen = seenRequest{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, ContentType: r.Header.Get("Content-Type"), As: r.Header.Get("Impersonate-User")}
		if len(text) > 0 {
			if err := json.Unmarshal(text, &seen.Body); err != nil {
				t.Error(err)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, seen
}

const answered = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u"}}`

var a = request.Location{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "ns", Name: "a"}

func TestRequests(t *testing.T) {
	content := map[string]any{"metadata": map[string]any{"name": "a"}}
	for name, row := range map[string]struct {
		call func(*testing.T, *Client) error
		want seenRequest
	}{
		"apply": {
			func(t *testing.T, c *Client) error {
				o, err := c.Apply(t.Context(), a, object.Append(nil, content), "templater/x")
				if o.UID() != "u" {
					t.Errorf("Apply returns %v, want the object as the server has it", o)
				}
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "fieldManager=templater%2Fx&fieldValidation=Strict&force=true", "application/apply-patch+yaml", content, ""},
		},
		"try to apply": {
			func(t *testing.T, c *Client) error {
				_, err := c.TryApply(t.Context(), a, object.Append(nil, content), "m")
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "dryRun=All&fieldManager=m&fieldValidation=Strict&force=true", "application/apply-patch+yaml", content, ""},
		},
		"dry run of an apply as a user": {
			func(t *testing.T, c *Client) error {
				_, err := c.DryRun().As("u").Apply(t.Context(), a, object.Append(nil, content), "m")
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "dryRun=All&fieldManager=m&fieldValidation=Strict&force=true", "application/apply-patch+yaml", content, "u"},
		},
		"dry run of an apply of the status, as a user": {
			func(t *testing.T, c *Client) error {
				_, err := c.As("u").DryRun().ApplyStatus(t.Context(), a, object.Append(nil, content), "m", true)
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a/status", "dryRun=All&fieldManager=m&fieldValidation=Strict&force=true", "application/apply-patch+yaml", content, "u"},
		},
		"dry run of a delete": {
			func(t *testing.T, c *Client) error {
				return c.DryRun().Delete(t.Context(), a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationForeground})
			},
			seenRequest{"DELETE", "/api/v1/namespaces/ns/configmaps/a", "dryRun=All", "application/json", map[string]any{
				"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": []any{"All"},
				"preconditions": map[string]any{"uid": "u"}, "propagationPolicy": "Foreground",
			}, ""},
		},
		"dry run of a change of finalizers": {
			func(t *testing.T, c *Client) error {
				_, err := c.DryRun().SetFinalizers(t.Context(), a, "7", []string{"f"})
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "dryRun=All&fieldManager=templater", "application/merge-patch+json", map[string]any{
				"metadata": map[string]any{"resourceVersion": "7", "finalizers": []any{"f"}},
			}, ""},
		},
		"dry run of a change of metadata": {
			func(t *testing.T, c *Client) error {
				_, err := c.DryRun().SetMetadata(t.Context(), a, request.Metadata{UID: "u", Labels: map[string]any{"tier": "front"}}, "m")
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "dryRun=All&fieldManager=m", "application/merge-patch+json", map[string]any{
				"metadata": map[string]any{"uid": "u", "labels": map[string]any{"tier": "front"}},
			}, ""},
		},
		"dry client that reads": {
			func(t *testing.T, c *Client) error {
				_, err := c.DryRun().Get(t.Context(), a)
				return err
			},
			seenRequest{Method: "GET", Path: "/api/v1/namespaces/ns/configmaps/a"},
		},
		"apply status": {
			func(t *testing.T, c *Client) error {
				_, err := c.ApplyStatus(t.Context(), a, object.Append(nil, content), "m", true)
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a/status", "fieldManager=m&fieldValidation=Strict&force=true", "application/apply-patch+yaml", content, ""},
		},
		"apply status without force": {
			func(t *testing.T, c *Client) error {
				_, err := c.ApplyStatus(t.Context(), a, object.Append(nil, content), "m", false)
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a/status", "fieldManager=m&fieldValidation=Strict&force=false", "application/apply-patch+yaml", content, ""},
		},
		"delete": {
			func(t *testing.T, c *Client) error {
				return c.Delete(t.Context(), a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationForeground})
			},
			seenRequest{"DELETE", "/api/v1/namespaces/ns/configmaps/a", "", "application/json", map[string]any{
				"kind": "DeleteOptions", "apiVersion": "v1",
				"preconditions": map[string]any{"uid": "u"}, "propagationPolicy": "Foreground",
			}, ""},
		},
		"delete of what is unchanged": {
			func(t *testing.T, c *Client) error {
				return c.Delete(t.Context(), a, request.Deletion{UID: "u", Version: "7", Propagation: metav1.DeletePropagationBackground})
			},
			seenRequest{"DELETE", "/api/v1/namespaces/ns/configmaps/a", "", "application/json", map[string]any{
				"kind": "DeleteOptions", "apiVersion": "v1",
				"preconditions": map[string]any{"uid": "u", "resourceVersion": "7"}, "propagationPolicy": "Background",
			}, ""},
		},
		"get, cluster-scoped": {
			func(t *testing.T, c *Client) error {
				_, err := c.Get(t.Context(), request.Location{Resource: a.Resource, Name: "a"})
				return err
			},
			seenRequest{Method: "GET", Path: "/api/v1/configmaps/a"},
		},
		"set finalizers": {
			func(t *testing.T, c *Client) error {
				current, err := object.From(map[string]any{"metadata": map[string]any{"resourceVersion": "7"}})
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.SetFinalizers(t.Context(), a, current.ResourceVersion(), []string{"f"})
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "fieldManager=templater", "application/merge-patch+json", map[string]any{
				"metadata": map[string]any{"resourceVersion": "7", "finalizers": []any{"f"}},
			}, ""},
		},
		"set labels": {
			func(t *testing.T, c *Client) error {
				_, err := c.SetMetadata(t.Context(), a, request.Metadata{UID: "u", Labels: map[string]any{"tier": "front"}}, "templater/x")
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "fieldManager=templater%2Fx", "application/merge-patch+json", map[string]any{
				"metadata": map[string]any{"uid": "u", "labels": map[string]any{"tier": "front"}},
			}, ""},
		},
		"take annotations and all owner references away": {
			func(t *testing.T, c *Client) error {
				_, err := c.SetMetadata(t.Context(), a, request.Metadata{UID: "u", Version: "7", Annotations: map[string]any{"note": nil}, Owners: []any{}}, "templater/x")
				return err
			},
			seenRequest{"PATCH", "/api/v1/namespaces/ns/configmaps/a", "fieldManager=templater%2Fx", "application/merge-patch+json", map[string]any{
				"metadata": map[string]any{"uid": "u", "resourceVersion": "7", "annotations": map[string]any{"note": nil}, "ownerReferences": []any{}},
			}, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, seen := serve(t, http.StatusOK, answered)
			if err := row.call(t, client); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, *seen); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectedQueriesBySelectors(t *testing.T) {
	for body, want := range map[string]bool{
		`{"kind":"List","apiVersion":"v1","items":[]}`:                 false,
		`{"kind":"List","apiVersion":"v1","items":[` + answered + `]}`: true,
	} {
		client, seen := serve(t, http.StatusOK, body)
		got, err := client.Selected(t.Context(), a, "tier=front", "spec.x=y")
		if err != nil || got != want {
			t.Errorf("Selected = %v, %v; want %v", got, err, want)
		}
		if want := "fieldSelector=metadata.name%3Da%2Cspec.x%3Dy&labelSelector=tier%3Dfront"; seen.Query != want {
			t.Errorf("query %q, want %q", seen.Query, want)
		}
	}
}

const denied = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`

func TestErrorAndMalformedResponsesReturnErrors(t *testing.T) {
	const empty = `{"kind":"List","apiVersion":"v1","items":[]}`
	list := func(c *Client) error {
		_, err := c.List(t.Context(), a.Resource, "ns", metav1.ListOptions{})
		return err
	}
	get := func(c *Client) error { _, err := c.Get(t.Context(), a); return err }
	selected := func(c *Client) error { _, err := c.Selected(t.Context(), a, "", ""); return err }
	for what, row := range map[string]struct {
		call   func(*Client) error
		status int
		body   string
		is     func(error) bool
	}{
		"a list that is forbidden":       {list, http.StatusForbidden, denied, apierrors.IsForbidden},
		"a list that is an object":       {list, http.StatusOK, answered, apierrors.IsInternalError},
		"an object that is a list":       {get, http.StatusOK, empty, apierrors.IsInternalError},
		"an object that may not be read": {get, http.StatusForbidden, denied, apierrors.IsForbidden},
		"a selection that is forbidden":  {selected, http.StatusForbidden, denied, apierrors.IsForbidden},
	} {
		client, _ := serve(t, row.status, row.body)
		if err := row.call(client); !row.is(err) {
			t.Errorf("%s: err = %v", what, err)
		}
	}
}

func TestNewClientRejectsInvalidConfig(t *testing.T) {
	if _, err := NewClient(&rest.Config{Host: "://"}); err == nil {
		t.Error("there is no error")
	}
}

func TestListRequestsSendTimeout(t *testing.T) {
	client, seen := serve(t, http.StatusOK, `{"kind":"List","apiVersion":"v1","items":[]}`)
	seconds := int64(7)
	if _, err := client.List(t.Context(), a.Resource, "ns", metav1.ListOptions{TimeoutSeconds: &seconds}); err != nil {
		t.Fatal(err)
	}
	if want := "timeout=7s&timeoutSeconds=7"; seen.Query != want {
		t.Errorf("list: query %q, want %q", seen.Query, want)
	}
	w, err := client.Watch(t.Context(), a.Resource, "ns", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	if want := "watch=true"; seen.Query != want {
		t.Errorf("watch: query %q, want %q", seen.Query, want)
	}
}

func TestInvalidPathSegmentSendsNoRequest(t *testing.T) {
	for _, at := range []request.Location{
		{Resource: a.Resource, Namespace: "ns", Name: "../b"}, {Resource: a.Resource, Namespace: "ns", Name: "a/b"},
		{Resource: a.Resource, Namespace: "..", Name: "a"}, {Resource: a.Resource, Namespace: "a/services/s/proxy", Name: "a"},
	} {
		client, seen := serve(t, http.StatusOK, answered)
		if _, err := client.Apply(t.Context(), at, []byte("{}"), "m"); err == nil || seen.Path != "" {
			t.Errorf("%v: err = %v, path %q", at, err, seen.Path)
		}
	}
}

func TestDeleteIgnoresMissingObject(t *testing.T) {
	client, _ := serve(t, http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	if err := client.Delete(t.Context(), a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationBackground}); err != nil {
		t.Errorf("err = %v", err)
	}
}

// A webhook may deny a deletion with any code, although the object exists.
func TestDeleteReturnsNotFoundFromWebhookAsError(t *testing.T) {
	client, _ := serve(t, http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"admission webhook \"no.example.org\" denied the request: no"}`)
	if err := client.Delete(t.Context(), a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationBackground}); request.AdmissionRefusal(err) != `admission webhook "no.example.org"` {
		t.Errorf("err = %v, want the refusal of the webhook", err)
	}
}

// The server returns 404 for each object of a resource that it does not serve, although the objects may exist.
func TestDeleteFromUnservedResourceReturnsError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"delete": func() error {
			return client.Delete(t.Context(), a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationBackground})
		},
		"finalizers": func() error { _, err := client.SetFinalizers(t.Context(), a, "1", nil); return err },
	} {
		if err := call(); !request.Unserved(err) {
			t.Errorf("%s: %v, want the error of a resource that is not served", name, err)
		}
	}
}

const user = "system:serviceaccount:team:robot"

func TestClientAsUserImpersonatesUser(t *testing.T) {
	for name, call := range map[string]func(*Client) error{
		"get":   func(c *Client) error { _, err := c.Get(t.Context(), a); return err },
		"apply": func(c *Client) error { _, err := c.Apply(t.Context(), a, []byte("{}"), "m"); return err },
		"apply status": func(c *Client) error {
			_, err := c.ApplyStatus(t.Context(), a, []byte("{}"), "m", true)
			return err
		},
		"delete": func(c *Client) error {
			return c.Delete(t.Context(), a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationForeground})
		},
		"watch": func(c *Client) error {
			w, err := c.Watch(t.Context(), a.Resource, "ns", metav1.ListOptions{})
			if err == nil {
				w.Stop()
			}
			return err
		},
		"allowed": func(c *Client) error { _, err := c.Allowed(t.Context(), request.Permission{}); return err },
	} {
		client, seen := serve(t, http.StatusOK, answered)
		if err := call(client.As(user)); err != nil || seen.As != user {
			t.Errorf("%s: made as %q with error %v, want %q", name, seen.As, err, user)
		}
		if err := call(client); err != nil || seen.As != "" {
			t.Errorf("%s: the client of nobody acts as %q, with error %v", name, seen.As, err)
		}
	}
	client, seen := serve(t, http.StatusOK, `{"kind":"List","apiVersion":"v1","items":[]}`)
	if _, err := client.As(user).List(t.Context(), a.Resource, "ns", metav1.ListOptions{}); err != nil || seen.As != user {
		t.Errorf("list: made as %q with error %v, want %q", seen.As, err, user)
	}
	if client.As("") != client {
		t.Error("nobody has a client of his own")
	}
}

func TestAllowedSendsSelfSubjectAccessReview(t *testing.T) {
	right := request.Permission{Verb: "patch", Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Subresource: "status", Namespace: "ns", Name: "a"}
	for body, want := range map[string]bool{
		`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"status":{"allowed":true}}`:               true,
		`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"status":{"allowed":false,"reason":"x"}}`: false,
	} {
		client, seen := serve(t, http.StatusCreated, body)
		got, err := client.As(user).Allowed(t.Context(), right)
		if err != nil || got != want {
			t.Errorf("Allowed = %v, %v; want %v", got, err, want)
		}
		asked := seenRequest{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", "application/json", map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": map[string]any{
				"verb": "patch", "group": "apps", "resource": "deployments", "subresource": "status", "namespace": "ns", "name": "a",
			}},
		}, user}
		if diff := cmp.Diff(asked, *seen); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	}
}

func TestWatchAccessReviewUsesSelectedName(t *testing.T) {
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	for selector, name := range map[string]string{"": "", "metadata.name=a": "a", "type=Opaque,metadata.name=a": "a", "type=Opaque": "", "metadata.name!=a": ""} {
		t.Run(selector, func(t *testing.T) {
			client, seen := serve(t, http.StatusCreated, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"status":{"allowed":true}}`)
			if got, err := client.As(user).MayWatch(t.Context(), secrets, "ns", selector); err != nil || !got {
				t.Errorf("MayWatch = %v, %v; want true", got, err)
			}
			want := map[string]any{"verb": "watch", "group": "", "resource": "secrets", "subresource": "", "namespace": "ns", "name": name}
			if diff := cmp.Diff(map[string]any{"resourceAttributes": want}, seen.Body.(map[string]any)["spec"]); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllowedReturnsForbiddenError(t *testing.T) {
	client, _ := serve(t, http.StatusForbidden, denied)
	if _, err := client.As(user).Allowed(t.Context(), request.Permission{Verb: "get"}); !apierrors.IsForbidden(err) {
		t.Errorf("err = %v, want a Forbidden", err)
	}
}
