package kube

import (
	"context"
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Client makes requests. It is safe for concurrent use. Its errors are those of
// the API server, unwrapped, so that apierrors tells them apart; their text may
// hold values of objects, so it is not for publishing.
type Client struct {
	rest rest.Interface
	as   string // user to impersonate; empty = nobody
}

// NewClient returns a client for the server that config names. The error is that
// of a config that makes no sense.
func NewClient(config *rest.Config) (*Client, error) {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return dates{impatient{next}} })
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

// As returns a client that makes its requests as that user, with the connections of c:
// it takes no room worth mentioning, and needs no end. An empty user returns c.
func (c *Client) As(user string) *Client {
	if user == "" {
		return c
	}
	return &Client{rest: c.rest, as: user}
}

// request prepares a request.
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
	return len(list.(*object.List).Items) > 0, nil //nolint:forcetypeassert // List has looked
}

// List reads the objects of a resource, as an *object.List.
func (c *Client) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error) {
	out, err := do(ctx, c.collection(resource, namespace, o)).Get()
	if err != nil {
		return nil, err
	}
	if _, ok := out.(*object.List); !ok {
		return nil, unexpected(out)
	}
	return out, nil
}

// Watch follows the objects of a resource. The objects of its events are *object.Object. With o.TimeoutSeconds, the watch ends
// WatchGrace after that time although the server holds it: an aggregated API server may be a tenant's.
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

// Apply makes a server-side apply of body, the JSON text of the object, as the
// field manager, taking over fields of others, and returns the object as the
// server has it then.
//
// A metadata.resourceVersion of "1" in body makes it a create that answers
// AlreadyExists or Conflict when an object of that name exists; a metadata.uid makes it an
// update that answers Invalid or Conflict when the object is not that one.
func (c *Client) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	return apply(ctx, c.request(c.rest.Patch(types.ApplyPatchType), at), body, manager, true)
}

// TryApply is Apply, but that the server stores nothing: it answers what the object would be.
func (c *Client) TryApply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	return apply(ctx, c.request(c.rest.Patch(types.ApplyPatchType), at).Param("dryRun", metav1.DryRunAll), body, manager, true)
}

// ApplyStatus is Apply for the status subresource. Without force, a Conflict names the fields that it would take over: see request.OwnedFields.
func (c *Client) ApplyStatus(ctx context.Context, at request.Location, body []byte, manager string, force bool) (*object.Object, error) {
	return apply(ctx, c.request(c.rest.Patch(types.ApplyPatchType), at).SubResource("status"), body, manager, force)
}

func apply(ctx context.Context, r *rest.Request, body []byte, manager string, force bool) (*object.Object, error) {
	return answer(do(ctx, r.Body(body).
		Param("fieldManager", manager).Param("force", strconv.FormatBool(force)).Param("fieldValidation", metav1.FieldValidationStrict)))
}

// Delete asks for the deletion of an object; it may take its time
// to go. It returns nil also when the object was gone before, and an error when the
// resource is not served. A Conflict says that the object of that name is another one by now, or of another version.
func (c *Client) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	only := map[string]any{"uid": string(d.UID)}
	if d.Version != "" {
		only["resourceVersion"] = d.Version
	}
	body := object.Append(nil, map[string]any{
		"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": only, "propagationPolicy": string(d.Propagation),
	})
	err := do(ctx, c.request(c.rest.Delete(), at).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)).Error()
	if request.MissingObject(err) {
		return nil
	}
	return err
}

// SetMetadata changes metadata of an object as the field manager. A NotFound says that there is no object
// of that name, an Invalid or a Conflict that it is another one by now, or of another version.
func (c *Client) SetMetadata(ctx context.Context, at request.Location, m request.Metadata, manager string) (*object.Object, error) {
	metadata := map[string]any{"uid": string(m.UID)}
	if m.Version != "" {
		metadata["resourceVersion"] = m.Version
	}
	if len(m.Labels) > 0 {
		metadata["labels"] = m.Labels
	}
	if len(m.Annotations) > 0 {
		metadata["annotations"] = m.Annotations
	}
	if m.Owners != nil {
		metadata["ownerReferences"] = m.Owners
	}
	return c.merge(ctx, at, metadata, manager)
}

// merge makes a merge patch of an object's metadata.
func (c *Client) merge(ctx context.Context, at request.Location, metadata map[string]any, manager string) (*object.Object, error) {
	body := object.Append(nil, map[string]any{"metadata": metadata})
	return answer(do(ctx, c.request(c.rest.Patch(types.MergePatchType), at).Body(body).Param("fieldManager", manager)))
}

// on makes the request one for the object, or for the collection where there is no name.
// The request fails where namespace or name cannot be a part of a path.
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

// SetFinalizers replaces the finalizers of an object, provided that it still has that resource version. Where it is being
// deleted and none is left, it is gone then.
func (c *Client) SetFinalizers(ctx context.Context, at request.Location, version string, finalizers []string) (*object.Object, error) {
	list := make([]any, len(finalizers))
	for i, f := range finalizers {
		list[i] = f
	}
	return c.merge(ctx, at, map[string]any{"resourceVersion": version, "finalizers": list}, "templater")
}

// holdersPage is how many objects Holders reads at a time.
const holdersPage = 500

// Holders returns the objects of a resource that have the finalizer, in a namespace, or, where it is empty, in all of them.
func (c *Client) Holders(ctx context.Context, resource schema.GroupVersionResource, namespace, finalizer string) ([]request.Holder, error) {
	var out []request.Holder
	o := metav1.ListOptions{Limit: holdersPage}
	for {
		answer, err := c.List(ctx, resource, namespace, o)
		if err != nil {
			return nil, err
		}
		list := answer.(*object.List) //nolint:forcetypeassert // List has looked
		for _, item := range list.Items {
			if h, holds := request.HolderOf(item.(*object.Object), finalizer); holds { //nolint:forcetypeassert // as List says
				out = append(out, h)
			}
		}
		if o.Continue = list.Continue; o.Continue == "" {
			return out, nil
		}
	}
}
