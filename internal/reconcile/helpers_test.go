package reconcile

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// configMaps is the kind of aConfigMap.
var configMaps = kind.Kind{Kind: "ConfigMap", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}

const aConfigMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a, resourceVersion: '1', uid: u}}"

// These are short for what makes objects for tests.
var (
	parse  = memserver.Parse
	packed = memserver.Pack
	with   = memserver.With
)

// answer is what the server answers where it refuses something.
func answer(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// reconciling is a reconciliation of a parent, which may be nil, by a controller.
func reconciling(r *Reconciler, c *running.Controller, parent *object.Object) *reconciliation {
	rec := newReconciliation(r, c, keyOf("apps", "one"))
	rec.parent = parent
	return rec
}

func keyOf(controller, parent string) queue.Key {
	return queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}}
}

const app = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a, b], text: hello}
`
