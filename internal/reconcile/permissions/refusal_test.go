package permissions

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestRejectionMessagesOmitValues(t *testing.T) {
	c := newServer(t).tracker().For("c", "", app)
	kind := kind.Kind{Kind: "Deployment", Namespaced: true, Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}}
	noNamespace := apierrors.NewNotFound(corev1.Resource("namespaces"), "gone")
	for why, row := range map[string]struct {
		err    error
		reason string
		want   string
	}{
		"a field that the schema does not know": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="`+secret+`"].foo: field not declared in schema`),
			v1.ReasonChildRejected,
			"cannot update X: .spec.template.spec.containers[…].foo: the schema has no such field",
		},
		"a missing right": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `deployments.apps "`+secret+`" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "ns"`),
			v1.ReasonChildForbidden,
			`cannot update X: templater is not allowed to patch deployments.apps in namespace ns: add {apiGroups: [apps], resources: [deployments], verbs: [create, delete, get, list, patch, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
		"a right on the parent's finalizers": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "`+secret+`" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`),
			v1.ReasonChildForbidden,
			`cannot update X: templater is not allowed to update apps/finalizers.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps/finalizers], verbs: [update]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: "true", which the admission plugin OwnerReferencesPermissionEnforcement requires for blockOwnerDeletion in the owner reference`,
		},
		"a kind of parents that the admission plugin does not know yet": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "`+secret+`" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.org/v1 Kind App: no matches for kind "App" in version "example.org/v1"`),
			v1.ReasonChildRejected,
			"cannot update X: the admission plugin OwnerReferencesPermissionEnforcement has not discovered the kind of the parent yet: it does so every 30 seconds, and templater retries",
		},
		"a quota forbids, and no right is missing": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "`+secret+`" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`),
			v1.ReasonChildRejected,
			"cannot update X: ResourceQuota few is exceeded; raise it, or delete objects that are not needed",
		},
		"a namespace that is not there": {noNamespace, v1.ReasonNamespaceNotFound, "cannot update X: its namespace does not exist; create the namespace, or change metadata.namespace in the template"},
		"a resource that is not served": {
			apierrors.NewGenericServerResponse(http.StatusNotFound, "delete", schema.GroupResource{Resource: "deployments"}, secret, secret, 0, true),
			v1.ReasonChildRequestFailed,
			"cannot update X: the API server does not serve this kind at the moment",
		},
		"no answer": {errors.New("dial " + secret), v1.ReasonChildRequestFailed, "cannot update X: the API server did not respond"},
	} {
		t.Run(why, func(t *testing.T) {
			if noNamespace.ErrStatus.Details != nil {
				noNamespace.ErrStatus.Details.Kind = "namespaces"
			}
			got := c.Refusal(row.err, "update X", "ns", kind)
			if got.Reason != row.reason || got.Message != row.want {
				t.Errorf("got  %s: %s\nwant %s: %s", got.Reason, got.Message, row.reason, row.want)
			}
			if strings.Contains(got.Message, secret) {
				t.Error("the message holds a value")
			}
			if got.Retry == problem.RetryOnChange {
				t.Error("a refused request must be retried")
			}
		})
	}
}

func TestTerminatingNamespaceIsReported(t *testing.T) {
	ending := answer(http.StatusForbidden, metav1.StatusReasonForbidden, secret, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	got := (&Checker{}).Refusal(ending, "create X", "", kind.Kind{})
	if want := "cannot create X: its namespace is being deleted; "; got.Reason != v1.ReasonNamespaceTerminating || !strings.HasPrefix(got.Message, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestWebhookDenialIsNotMissingPermission(t *testing.T) {
	denied := denial("robot", "create", "configmaps", `in the namespace "ns"`)
	for err, want := range map[error]bool{
		denied:                  true,
		errors.New("no answer"): false,
		answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "x.example.org" denied the request: `+denied.Error()): false,
		answer(http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota"):                                                        false,
		answer(http.StatusConflict, metav1.StatusReasonConflict, denied.Error()):                                                            false,
	} {
		if got := Denied(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
