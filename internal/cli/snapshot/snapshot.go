// Package snapshot reads from a cluster, once and without a watch, the objects that reconciliations of a TemplateController see. It writes
// nothing.
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
)

// Client reads from the API server; *kube.Client does.
type Client interface {
	Get(ctx context.Context, at request.Location) (*object.Object, error)
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error)
}

// Kinds finds the resources of kinds, and the other way round; *kube.Discovery does.
type Kinds interface {
	RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error)
}

// Source is a cluster to read from. It is safe for concurrent use.
type Source struct {
	Client Client
	Kinds  Kinds
	// Schemas are those of the kinds of the cluster, which are read when they are asked for; nil knows of none.
	Schemas openapi.Set
}

// NewSource returns a Source that reads as the user of config, and the client that it reads by.
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

// controllers is where TemplateControllers are.
var controllers = v1.GroupVersion.WithResource("templatecontrollers")

// Controller returns the TemplateController of that name, or nil where there is none.
func (s *Source) Controller(ctx context.Context, name string) (*v1.TemplateController, error) {
	o, err := s.Client.Get(ctx, request.Location{Resource: controllers, Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	if err != nil {
		return nil, failed(err, "read TemplateController %s", name)
	}
	return controllerOf(o)
}

// Controllers returns all TemplateControllers.
func (s *Source) Controllers(ctx context.Context) ([]*v1.TemplateController, error) {
	objects, err := s.list(ctx, controllers, "", metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(err, "list TemplateControllers")
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
		return nil, fmt.Errorf("TemplateController %s cannot be read: %w", o.Name(), err)
	}
	return tc, nil
}

// pageSize is how many objects are asked for at a time, as kubectl does.
const pageSize = 500

// list reads all objects of a resource; an empty namespace is for all.
func (s *Source) list(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) ([]*object.Object, error) {
	o.Limit = pageSize
	var out []*object.Object
	for {
		answer, err := s.Client.List(ctx, resource, namespace, o)
		if err != nil {
			return nil, err
		}
		page := answer.(*object.List) //nolint:forcetypeassert // Client says so
		for _, item := range page.Items {
			out = append(out, item.(*object.Object)) //nolint:forcetypeassert // List says so
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return out, nil
		}
	}
}

// listIn is list in several namespaces; none is for all. Each object is there once.
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

// failed says what could not be done, and why.
func failed(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if request, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: the cluster does not answer: %w", what, request.Err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
