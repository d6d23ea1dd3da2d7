package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Client sends requests to the API server. It is safe for concurrent use. Errors of the API server are returned unwrapped, for
// use with apierrors. Their text may contain field values: do not publish it.
type Client struct {
	rest   rest.Interface
	as     string // user to impersonate; empty = none
	dryRun bool   // see DryRun
}

// NewClient returns a client for the API server of config. It returns an error if config is invalid.
func NewClient(config *rest.Config) (*Client, error) {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return dates{bounded{next}} })
	c.ContentConfig = rest.ContentConfig{
		AcceptContentTypes: runtime.ContentTypeJSON, ContentType: runtime.ContentTypeJSON,
		NegotiatedSerializer: object.Serializer(), GroupVersion: &schema.GroupVersion{},
	}
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, err
	}
	return &Client{rest: client}, nil
}

// As returns a client that impersonates user. It shares the connections of c and does not need to be closed. If user is empty, As
// returns c.
func (c *Client) As(user string) *Client {
	if user == "" {
		return c
	}
	return &Client{rest: c.rest, as: user, dryRun: c.dryRun}
}

// DryRun returns a client whose writes are server-side dry runs: the server checks them and returns the resulting object, but
// stores nothing. It shares the connections of c and does not need to be closed.
func (c *Client) DryRun() *Client {
	return &Client{rest: c.rest, as: c.as, dryRun: true}
}

// request sets the path and the impersonated user of r.
func (c *Client) request(r *rest.Request, at request.Location) *rest.Request {
	return on(c.asUser(r), at)
}

func (c *Client) asUser(r *rest.Request) *rest.Request {
	if c.as != "" { // the server fills in the groups of a service account
		r.SetHeader(authenticationv1.ImpersonateUserHeader, c.as)
	}
	return r
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, at request.Location) (*object.Object, error) {
	return answer(do(ctx, c.request(c.rest.Get(), at)))
}

// Selected reports whether an object exists that matches both selectors.
func (c *Client) Selected(ctx context.Context, at request.Location, labels, fieldSelector string) (bool, error) {
	name := fields.OneTermEqualSelector("metadata.name", at.Name).String()
	if fieldSelector != "" {
		name += "," + fieldSelector
	}
	list, err := c.List(ctx, at.Resource, at.Namespace, metav1.ListOptions{LabelSelector: labels, FieldSelector: name})
	if err != nil {
		return false, err
	}
	return len(list.(*object.List).Items) > 0, nil //nolint:forcetypeassert // List has checked the type
}

// List reads the objects of a resource, as an *object.List.
func (c *Client) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error) {
	list, err := listed(do(ctx, c.collection(resource, namespace, o)))
	if err != nil {
		return nil, err // not a nil *object.List
	}
	return list, nil
}

func listed(result rest.Result) (*object.List, error) {
	out, err := result.Get()
	if err != nil {
		return nil, err
	}
	list, ok := out.(*object.List)
	if !ok {
		return nil, unexpected(out)
	}
	return list, nil
}

// Watch watches the objects of a resource. The objects of its events are *object.Object. If the server does not end the watch
// after o.TimeoutSeconds, the client ends it WatchGrace later, because an aggregated API server may be run by a tenant.
func (c *Client) Watch(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	if o.TimeoutSeconds == nil {
		return c.collection(resource, namespace, o).Watch(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*o.TimeoutSeconds)*time.Second+WatchGrace)
	w, err := c.collection(resource, namespace, o).Watch(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return limitedWatch{w, cancel}, nil
}

func (c *Client) collection(resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) *rest.Request {
	var timeout time.Duration
	if o.TimeoutSeconds != nil {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	return c.request(c.rest.Get(), request.Location{Resource: resource, Namespace: namespace}).
		SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).Timeout(timeout)
}

// Apply sends a server-side apply patch with force. body is the object as JSON, and manager the field manager. It returns the
// resulting object.
//
// With a metadata.resourceVersion of "1" in body, Apply only creates: it returns AlreadyExists or Conflict if an object with that
// name exists. With a metadata.uid, it only updates: it returns Invalid or Conflict if the object has another UID.
func (c *Client) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	return apply(ctx, c.patch(types.ApplyPatchType, at), body, manager, true)
}

// TryApply is Apply of DryRun.
func (c *Client) TryApply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	return c.DryRun().Apply(ctx, at, body, manager)
}

// ApplyStatus is Apply for the status subresource. Without force, it returns a Conflict that lists the fields owned by other
// managers: see request.OwnedFields.
func (c *Client) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	return apply(ctx, c.patch(types.ApplyPatchType, at).SubResource("status"), body, manager, force)
}

func apply(ctx context.Context, r *rest.Request, body []byte, manager string, force bool) (*object.Object, error) {
	return answer(do(ctx, r.Body(body).
		Param("fieldManager", manager).Param("force", strconv.FormatBool(force)).Param("fieldValidation", metav1.FieldValidationStrict)))
}

// Delete deletes an object with the preconditions in d. Finalizers may delay the deletion. Delete returns nil if the object does
// not exist, an error if the resource is not served, and Conflict if the object has another UID or resource version.
func (c *Client) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	only := map[string]any{"uid": string(d.UID)}
	if d.Version != "" {
		only["resourceVersion"] = d.Version
	}
	options := map[string]any{
		"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": only, "propagationPolicy": string(d.Propagation),
	}
	r := c.request(c.rest.Delete(), at)
	if c.dryRun {
		options["dryRun"] = []any{metav1.DryRunAll}
		r.Param("dryRun", metav1.DryRunAll) // the server reads only the body, but audit logs show only the URL
	}
	err := do(ctx, r.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(object.Append(nil, options))).Error()
	if request.MissingObject(err) {
		return nil
	}
	return err
}

// SetMetadata patches metadata of an object as the field manager. It returns NotFound if no object with that name exists, and
// Invalid or Conflict if the object has another UID or resource version.
func (c *Client) SetMetadata(ctx context.Context, at request.Location, m request.Metadata, manager string) (*object.Object, error) {
	return c.Merge(ctx, at, m.Patch(), manager)
}

// ReleaseFields makes a field manager give up fields that it owns by Apply. It changes no value: the fields then belong to their other owners, or
// to nobody, and an apply without them does not reset them. It returns NotFound if no object with that name exists, and Conflict if the object has
// another UID, or if it is changed again and again. It reads the object first, because objects in caches have no complete managedFields.
func (c *Client) ReleaseFields(ctx context.Context, at request.Location, of request.Release) (*object.Object, error) {
	const attempts = 5
	for n := 1; ; n++ {
		result := do(ctx, c.request(c.rest.Get(), at))
		if err := result.Error(); err != nil {
			return nil, err
		}
		text, _ := result.Raw() // the error is nil: see above
		var there struct {
			Metadata struct {
				UID             types.UID `json:"uid"`
				ResourceVersion string    `json:"resourceVersion"`
				ManagedFields   []any     `json:"managedFields"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(text, &there); err != nil {
			return nil, apierrors.NewInternalError(errors.New("the response is not a Kubernetes object"))
		}
		rest, owned := object.ReleaseFields(there.Metadata.ManagedFields, of.Manager, of.Paths)
		switch {
		case there.Metadata.UID != of.UID:
			return nil, apierrors.NewConflict(at.Resource.GroupResource(), at.Name, errors.New("the object was replaced"))
		case !owned:
			return object.Decode(text)
		}
		after, err := c.Merge(ctx, at, map[string]any{"metadata": map[string]any{
			"uid": string(of.UID), "resourceVersion": there.Metadata.ResourceVersion, "managedFields": rest,
		}}, of.Manager)
		if n == attempts || !apierrors.IsConflict(err) {
			return after, err
		}
	}
}

// Merge sends a JSON merge patch as the field manager. It returns NotFound if no object with that name exists, and Invalid or Conflict if
// the object has another UID or resource version than the patch.
func (c *Client) Merge(ctx context.Context, at request.Location, patch map[string]any, manager string) (*object.Object, error) {
	return answer(do(ctx, c.patch(types.MergePatchType, at).Body(object.Append(nil, patch)).Param("fieldManager", manager)))
}

// patch returns a request that patches an object.
func (c *Client) patch(how types.PatchType, at request.Location) *rest.Request {
	r := c.request(c.rest.Patch(how), at)
	if c.dryRun {
		r.Param("dryRun", metav1.DryRunAll)
	}
	return r
}

// on sets the path of the request: the object, or its collection if at has no name. The request fails if namespace or name is not
// a valid path segment.
func on(r *rest.Request, at request.Location) *rest.Request {
	if at.Resource.Group == "" {
		r.AbsPath("/api", at.Resource.Version)
	} else {
		r.AbsPath("/apis", at.Resource.Group, at.Resource.Version)
	}
	r.NamespaceIfScoped(at.Namespace, at.Namespace != "").Resource(at.Resource.Resource)
	if at.Name != "" {
		r.Name(at.Name)
	}
	return r
}

func answer(result rest.Result) (*object.Object, error) {
	out, err := result.Get()
	if err != nil {
		return nil, err
	}
	o, ok := out.(*object.Object)
	if !ok {
		return nil, unexpected(out)
	}
	return o, nil
}

func unexpected(out runtime.Object) error {
	return apierrors.NewInternalError(fmt.Errorf("unexpected response of type %T", out))
}

// SetFinalizers replaces the finalizers of an object if it still has that resource version. If the object is being deleted and
// the list is empty, the server then removes the object.
func (c *Client) SetFinalizers(ctx context.Context, at request.Location, version string, finalizers []string) (*object.Object, error) {
	list := make([]any, len(finalizers))
	for i, f := range finalizers {
		list[i] = f
	}
	return c.Merge(ctx, at, map[string]any{"metadata": map[string]any{"resourceVersion": version, "finalizers": list}}, "templater")
}

// pageSize is the page size of Each.
const pageSize = 500

// Each calls visit for each object of a resource, with one request per 500 objects. If namespace is empty, it reads all namespaces. An
// object that changes in the meantime may be visited before or after the change. It returns the error of a request.
func (c *Client) Each(ctx context.Context, resource schema.GroupVersionResource, namespace string, visit func(*object.Object)) error {
	list := func(o metav1.ListOptions) *rest.Request { return c.collection(resource, namespace, o) }
	return each(ctx, metav1.ListOptions{Limit: pageSize}, list, visit)
}

// EachMetadata is like Each for the objects of all namespaces that a label selector matches, but the objects only have metadata.
func (c *Client) EachMetadata(ctx context.Context, resource schema.GroupVersionResource, selector string, visit func(*object.Object)) error {
	list := func(o metav1.ListOptions) *rest.Request {
		return c.collection(resource, "", o).SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	}
	return each(ctx, metav1.ListOptions{Limit: pageSize, LabelSelector: selector}, list, visit)
}

func each(ctx context.Context, o metav1.ListOptions, list func(metav1.ListOptions) *rest.Request, visit func(*object.Object)) error {
	for {
		page, err := listed(do(ctx, list(o)))
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			visit(item.(*object.Object)) //nolint:forcetypeassert // the items of a page are objects
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return nil
		}
	}
}
