package reconciletest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// Kinds are the kinds of a Cluster. Parents are of kind App.
var Kinds = map[schema.GroupKind]kind.Kind{
	{Kind: "ConfigMap"}:           {Kind: "ConfigMap", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
	{Kind: "Pod"}:                 {Kind: "Pod", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
	{Group: "batch", Kind: "Job"}: {Kind: "Job", Namespaced: true, Resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}},
	{Kind: "Namespace"}:           {Kind: "Namespace", Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: {Kind: "ClusterRole", Resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}},
	{Group: "example.org", Kind: "App"}:                       {Kind: "App", Namespaced: true, Custom: true, Status: &kind.StatusSchema{ObservedGeneration: true}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "apps"}},
	{Group: "example.org", Kind: "Cluster"}:                   {Kind: "Cluster", Custom: true, Status: &kind.StatusSchema{Conditions: "no room"}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "clusters"}},
	{Group: "example.org", Kind: "Gadget"}:                    {Kind: "Gadget", Namespaced: true, Custom: true, Status: &kind.StatusSchema{}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gadgets"}},
	{Group: "example.org", Kind: "Statusless"}:                {Kind: "Statusless", Namespaced: true, Custom: true, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "statuslesses"}},
}

// kindOf returns the kind of a resource. The kind of TemplateControllers has a status, too.
func kindOf(resource schema.GroupResource) kind.Kind {
	for _, kind := range Kinds {
		if kind.Resource.GroupResource() == resource {
			return kind
		}
	}
	return kind.Kind{Resource: resource.WithVersion(""), Custom: true, Status: &kind.StatusSchema{}}
}

// AtomicConditions makes the server treat the conditions of an App as an atomic list until the test ends.
func AtomicConditions(t *testing.T) {
	app := schema.GroupKind{Group: "example.org", Kind: "App"}
	before := Kinds[app]
	t.Cleanup(func() { Kinds[app] = before })
	now := before
	now.Status = &kind.StatusSchema{ObservedGeneration: true, Atomic: true}
	Kinds[app] = now
}

// BatchJob is the kind Job, and RelatedJobs is the watch of related Jobs.
var (
	BatchJob    = schema.GroupKind{Group: "batch", Kind: "Job"}
	RelatedJobs = watch.Want{Resource: Kinds[BatchJob].Resource, Role: watch.Related}
)

// Objects that most tests use.
var (
	One            = AppAt("one")
	AppsController = ControllerAt("apps")
	ClusterRole    = request.Location{Resource: Kinds[schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}].Resource, Name: "r"}
)

// AppAt returns the location of an App.
func AppAt(name string) request.Location {
	return request.Location{Resource: Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Namespace: "ns", Name: name}
}

// ControllerAt returns the location of a TemplateController.
func ControllerAt(name string) request.Location {
	return request.Location{Resource: v1.Resource, Name: name}
}

// ConfigMap returns the location of a ConfigMap.
func ConfigMap(name string) request.Location {
	return request.Location{Resource: Kinds[schema.GroupKind{Kind: "ConfigMap"}].Resource, Namespace: "ns", Name: name}
}

// FarMap returns the location of a ConfigMap in namespace far.
func FarMap(name string) request.Location {
	at := ConfigMap(name)
	at.Namespace = "far"
	return at
}

// ConfigMapName returns the key of ConfigMap.
func ConfigMapName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

// LocationOf returns the location of an object.
func LocationOf(o *unstructured.Unstructured) request.Location {
	return place(Kinds[o.GroupVersionKind().GroupKind()], o)
}

func place(kind kind.Kind, o *unstructured.Unstructured) request.Location {
	return controller.Locate(kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
}
