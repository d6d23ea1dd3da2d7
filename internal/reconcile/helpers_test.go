package reconcile

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// configMaps is the kind of aConfigMap.
var configMaps = kind.Kind{Kind: "ConfigMap", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}

const aConfigMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a, resourceVersion: '1', uid: u}}"

// Short names of functions that create objects and errors.
var (
	parse   = memserver.Parse
	packed  = memserver.Pack
	refusal = memserver.Refusal
	with    = memserver.With
)

// reconciling returns a reconciliation of a parent, which may be nil, by a controller.
func reconciling(r *Reconciler, c *controller.Controller, parent *object.Object) *reconciliation {
	rec := newReconciliation(r, c, queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "one"}})
	rec.parent = parent
	return rec
}

const app = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a, b], text: hello}
`
