package request

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrorDetailsOfServerResponses(t *testing.T) {
	namespaces, maps := schema.GroupResource{Resource: "namespaces"}, schema.GroupResource{Resource: "configmaps"}
	for why, row := range map[string]struct {
		err     error
		code    int32
		kind    string
		missing bool // a namespace
	}{
		"it has not answered":         {errors.New("no answer"), 0, "", false},
		"the namespace is not there":  {apierrors.NewNotFound(namespaces, "a"), 404, "namespaces", true},
		"as an error is handed on":    {fmt.Errorf("create: %w", apierrors.NewNotFound(namespaces, "a")), 404, "namespaces", true},
		"the object is not there":     {apierrors.NewNotFound(maps, "a"), 404, "configmaps", false},
		"the namespace was changed":   {apierrors.NewConflict(namespaces, "a", errors.New("changed")), 409, "namespaces", false},
		"an answer that says no more": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500}}, 500, "", false},
	} {
		if code, kind, missing := Code(row.err), Details(row.err).Kind, MissingNamespace(row.err); code != row.code || kind != row.kind || missing != row.missing {
			t.Errorf("%s: code %d, kind %q, a namespace is missing: %v; want %d, %q, %v", why, code, kind, missing, row.code, row.kind, row.missing)
		}
	}
}

func TestMissingObjectExcludesUnservedResource(t *testing.T) {
	apps := schema.GroupResource{Group: "example.org", Resource: "apps"}
	for why, row := range map[string]struct {
		err      error
		want     bool
		unserved bool
	}{
		"the server has the resource and no such object": {apierrors.NewNotFound(apps, "a"), true, false},
		"the server does not serve the resource":         {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", apps, "a", "404 page not found", 0, true), false, true},
		"the API service does not answer":                {apierrors.NewServiceUnavailable("no endpoints"), false, false},
		"the request was not answered":                   {errors.New("no answer"), false, false},
		"a webhook refuses a write with that code":       {refusedAsMissing(`admission webhook "no.example.org" denied the request: no`), false, false},
		"a policy refuses a write with that code":        {refusedAsMissing(`apps.example.org "a" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: no`), false, false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := MissingObject(row.err); got != row.want {
				t.Errorf("missing: %v, want %v", got, row.want)
			}
			if got := Unserved(row.err); got != row.unserved {
				t.Errorf("unserved: %v, want %v", got, row.unserved)
			}
		})
	}
}

func refusedAsMissing(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: message}}
}

func TestMissingNamespaceDetectsNotFoundOnly(t *testing.T) {
	namespaces := schema.GroupResource{Resource: "namespaces"}
	for err, want := range map[error]bool{
		apierrors.NewNotFound(namespaces, "x"):                                   true,
		apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "x"): false,
		apierrors.NewForbidden(namespaces, "x", errors.New("quota")):             false,
		errors.New("no answer"):                                                  false,
	} {
		if got := MissingNamespace(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if got := Details(errors.New("no answer")); len(got.Causes) > 0 {
		t.Errorf("details %v of an answer that nobody gave", got)
	}
}

// TestWithoutTextReplacesServerMessage has a conversion webhook that writes the message of a failed list.
func TestWithoutTextReplacesServerMessage(t *testing.T) {
	answer := apierrors.NewTooManyRequests("conversion webhook failed: s3cr3t", 1)
	for name, row := range map[string]struct {
		err  error
		want string
	}{
		"no answer":                    {errors.New("connection refused"), "connection refused"},
		"an answer":                    {answer, "the API server returned 429 Too Many Requests"},
		"an answer, with its context":  {fmt.Errorf("list parents: %w", answer), "list parents: the API server returned 429 Too Many Requests"},
		"an answer before other words": {fmt.Errorf("%w, will retry", answer), "the API server returned 429 Too Many Requests"},
		"several errors":               {errors.Join(errors.New("one"), answer), "the API server returned 429 Too Many Requests"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WithoutText(row.err).Error(); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestDryRunUnsupportedMatchesWholeMessage(t *testing.T) {
	for why, row := range map[string]struct {
		err  error
		want bool
	}{
		"a webhook with side effects":                  {apierrors.NewBadRequest(`admission webhook "a.example.org" does not support dry run`), true},
		"a denial of a webhook that quotes that":       {apierrors.NewBadRequest(`admission webhook "a.example.org" denied the request: admission webhook "a.example.org" does not support dry run`), false},
		"a message of another code":                    {apierrors.NewInternalError(errors.New(`admission webhook "a.example.org" does not support dry run`)), false},
		"another bad request":                          {apierrors.NewBadRequest("no"), false},
		"no response, from a proxy with the same text": {errors.New(`admission webhook "a.example.org" does not support dry run`), false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := DryRunUnsupported(row.err); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}
