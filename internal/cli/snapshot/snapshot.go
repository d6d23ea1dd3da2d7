// Package snapshot reads from a cluster, once, the objects that reconciling a TemplateController needs. It does not write.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Client reads from the API server. It is implemented by *kube.Client.
type Client interface {
	Get(ctx context.Context, at request.Location) (*object.Object, error)
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error)
}

// Kinds maps kinds to resources and back. It is implemented by *kube.Discovery.
type Kinds interface {
	RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error)
}

// Source is a cluster to read from. It is safe for concurrent use.
type Source struct {
	Client Client
	Kinds  Kinds
	// Schemas reads the schemas of kinds from the cluster on demand; nil = none.
	Schemas openapi.Set
}

// NewSource returns a Source for a client configuration, and its client.
func NewSource(config *rest.Config) (*Source, *kube.Client, error) {
	config = kube.WithoutWarnings(config)
	client, err := kube.NewClient(config)
	if err != nil {
		return nil, nil, err
	}
	discovering, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	fields := openapi.NewCache(openapi.CacheOptions{Reader: client, Clock: clock.RealClock{}, Logger: klog.Background()})
	return &Source{client, kube.NewDiscovery(discovering), fields}, client, nil
}

// Controller returns the TemplateController with that key (see v1.Key), or nil if it does not exist.
func (s *Source) Controller(ctx context.Context, key string) (*v1.TemplateController, error) {
	namespace, name := v1.SplitKey(key)
	o, err := s.Client.Get(ctx, request.Location{Resource: v1.ResourceOf(key), Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		return nil, failed(err, "read %s", v1.Describe(key))
	}
	return controllerOf(o)
}

// Controllers lists the TemplateControllers, and the NamespacedTemplateControllers in a namespace; if it is empty, only TemplateControllers. A
// kind that the user is not allowed to list is omitted. If nothing remains of the two, it returns the Forbidden error.
func (s *Source) Controllers(ctx context.Context, namespace string) ([]*v1.TemplateController, error) {
	all, err := s.controllers(ctx, v1.Resource, "")
	if namespace == "" {
		return all, err
	}
	namespaced, other := s.controllers(ctx, v1.NamespacedResource, namespace)
	switch {
	case apierrors.IsForbidden(other):
		return all, err
	case apierrors.IsForbidden(err) && len(namespaced) > 0:
		return namespaced, other
	}
	return append(all, namespaced...), errors.Join(err, other)
}

func (s *Source) controllers(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*v1.TemplateController, error) {
	objects, err := s.list(ctx, resource, namespace, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(err, "list %s", resource.Resource)
	}
	var out []*v1.TemplateController
	for _, o := range objects {
		tc, err := controllerOf(o)
		if err != nil {
			return nil, err
		}
		out = append(out, tc)
	}
	return out, nil
}

func controllerOf(o *object.Object) (*v1.TemplateController, error) {
	tc := &v1.TemplateController{}
	if err := o.Unmarshal(tc); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", v1.Describe(v1.Key(o.Namespace(), o.Name())), err)
	}
	spec.Confine(tc.Namespace, &tc.Spec)
	return tc, nil
}

// pageSize is the page size of lists, as in kubectl.
const pageSize = 500

// list reads all objects of a resource; namespace "" = all.
func (s *Source) list(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) ([]*object.Object, error) {
	o.Limit = pageSize
	var out []*object.Object
	for {
		answer, err := s.Client.List(ctx, resource, namespace, o)
		if err != nil {
			return nil, err
		}
		page := answer.(*object.List) //nolint:forcetypeassert // see Client
		for _, item := range page.Items {
			out = append(out, item.(*object.Object)) //nolint:forcetypeassert // see object.List
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return out, nil
		}
	}
}

// listIn is list for several namespaces; none = all. The result has no duplicates.
func (s *Source) listIn(ctx context.Context, resource schema.GroupVersionResource, namespaces []string, o metav1.ListOptions) ([]*object.Object, error) {
	if len(namespaces) == 0 {
		return s.list(ctx, resource, "", o)
	}
	var out []*object.Object
	seen := map[string]bool{}
	for _, namespace := range namespaces {
		if seen[namespace] {
			continue
		}
		seen[namespace] = true
		some, err := s.list(ctx, resource, namespace, o)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// failed wraps an error with what failed.
func failed(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if request, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: the API server does not respond: %w", what, request.Err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
