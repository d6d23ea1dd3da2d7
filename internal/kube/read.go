package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

var errTooLarge = errors.New("the response of the API server is too large")

// Read sends a GET request for path, which may include a query, and returns the body of the JSON response. It returns an error if
// the body has more than most bytes.
func (c *Client) Read(ctx context.Context, path string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	r := c.asUser(c.rest.Get()).RequestURI(path).SetHeader("Accept", runtime.ContentTypeJSON)
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errTooLarge, most)
	}
	return text, err
}

// dateKey is the context key of a *time.Time that receives the Date header of responses.
type dateKey struct{}

// dates records the Date header of responses.
type dates struct{ http.RoundTripper }

func (d dates) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.RoundTripper.RoundTrip(r)
	if at, ok := r.Context().Value(dateKey{}).(*time.Time); ok && err == nil {
		*at, _ = http.ParseTime(answer.Header.Get("Date"))
	}
	return answer, err
}

// GetDated reads an object. It also returns the Date header of the response, which is the API server time in whole seconds, or
// zero if the header is missing.
func (c *Client) GetDated(ctx context.Context, at request.Location) (*object.Object, time.Time, error) {
	var date time.Time
	o, err := c.Get(context.WithValue(ctx, dateKey{}, &date), at)
	return o, date, err
}

// reviews is the resource of access reviews.
var reviews = authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")

// Allowed reports whether the client's user has a permission. It returns Forbidden if the client is not allowed to impersonate
// that user.
func (c *Client) Allowed(ctx context.Context, right request.Permission) (bool, error) {
	body := object.Append(nil, map[string]any{
		"apiVersion": authorizationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"verb": right.Verb, "group": right.Resource.Group, "resource": right.Resource.Resource, "subresource": right.Subresource,
			"namespace": right.Namespace, "name": right.Name,
		}},
	})
	review, err := answer(do(ctx, c.request(c.rest.Post(), request.Location{Resource: reviews}).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)))
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(review.Content(), "status", "allowed")
	return allowed, nil
}

// MayWatch reports whether the client's user is allowed to watch a resource. It returns the same errors as Allowed. RBAC can
// allow a watch of a single object by its name (resourceNames).
func (c *Client) MayWatch(ctx context.Context, resource schema.GroupVersionResource, namespace, fieldSelector string) (bool, error) {
	right := request.Permission{Verb: "watch", Resource: resource.GroupResource(), Namespace: namespace}
	if selector, err := fields.ParseSelector(fieldSelector); err == nil {
		right.Name, _ = selector.RequiresExactMatch("metadata.name")
	}
	return c.Allowed(ctx, right)
}
