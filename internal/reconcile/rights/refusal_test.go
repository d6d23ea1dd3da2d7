package rights

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
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestRefusalsTellWithoutValues(t *testing.T) {
	c := newServer(t).tracker().For("c", "", app)
	kind := kind.Kind{Kind: "Deployment", Namespaced: true, Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}}
	noNamespace := apierrors.NewNotFound(corev1.Resource("namespaces"), "gone")
	for why, row := range map[string]struct {
		err    error
		reason string
		want   string
	}{
		"an immutable field": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.selector: Invalid value: "+secret+": field is immutable",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.selector", Message: "Invalid value: " + secret + ": field is immutable"}),
			v1.ReasonChildRejected,
			"cannot update X: spec.selector: field is immutable; to replace the object, set updateStrategy.type to Recreate",
		},
		"the key of a list item is a value": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret,
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: `spec.env[name="` + secret + `"].value`, Message: secret}),
			v1.ReasonChildRejected,
			"cannot update X: spec.env[…].value: required value is missing",
		},
		"a policy": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `deployments.apps "x\"`+secret+`" is forbidden: ValidatingAdmissionPolicy 'no.example.org' with binding 'b' denied request: `+secret),
			v1.ReasonChildRejected,
			"cannot update X: denied by ValidatingAdmissionPolicy 'no.example.org'",
		},
		"a value that has the words of a policy and of a webhook": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `Deployment.apps "x" is invalid: spec.a: Invalid value: "is forbidden: ValidatingAdmissionPolicy 'evil' with binding; admission webhook "evil" denied; failed calling webhook "evil"": no`,
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.a", Message: "no"}),
			v1.ReasonChildRejected,
			"cannot update X: spec.a: invalid value",
		},
		"a reason and a cause that somebody made up": {
			answer(http.StatusTeapot, metav1.StatusReason(secret+"\n"), "no", metav1.StatusCause{Type: metav1.CauseType(secret + "\n"), Field: "spec.a", Message: "no"}),
			v1.ReasonChildRejected,
			"cannot update X: spec.a: not accepted",
		},
		"a reason that somebody made up": {
			answer(http.StatusTeapot, metav1.StatusReason(secret+"\n"), "no"),
			v1.ReasonChildRejected,
			"cannot update X: the API server answers 418",
		},
		"a path without an end": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: strings.Repeat("a.", 300), Message: "no"}),
			v1.ReasonChildRejected,
			"cannot update X: a field: invalid value",
		},
		"a field that the schema does not know": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="`+secret+`"].foo: field not declared in schema`),
			v1.ReasonChildRejected,
			"cannot update X: .spec.template.spec.containers[…].foo: the schema has no such field",
		},
		"a path that holds a piece of a value is left out": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `.spec.containers[name="a .`+secret+`"].foo: field not declared in schema`),
			v1.ReasonChildRejected,
			"cannot update X: a field: the schema has no such field",
		},
		"a wrong type": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `.spec.replicas: expected numeric (int or float), got `+secret),
			v1.ReasonChildRejected,
			"cannot update X: .spec.replicas: wrong type, expected number",
		},
		"a webhook": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "check.example.org" denied the request: `+secret),
			v1.ReasonChildRejected,
			`cannot update X: denied by admission webhook "check.example.org"`,
		},
		"a missing right": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `deployments.apps "`+secret+`" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "ns"`),
			v1.ReasonChildForbidden,
			`cannot update X: templater may not patch deployments.apps in namespace ns: add {apiGroups: [apps], resources: [deployments], verbs: [create, delete, get, list, patch, watch]} to a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true"`,
		},
		"a right on the parent's finalizers": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "`+secret+`" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>`),
			v1.ReasonChildForbidden,
			`cannot update X: templater may not update apps/finalizers.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps/finalizers], verbs: [update]} to a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true", which the admission plugin OwnerReferencesPermissionEnforcement asks for, so that the child can block the deletion of its parent`,
		},
		"a quota forbids, and no right is missing": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "`+secret+`" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`),
			v1.ReasonChildRejected,
			"cannot update X: ResourceQuota few is used up; raise it, or delete what is not needed",
		},
		"a role that grants more than templater has": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `roles.rbac.authorization.k8s.io "`+secret+`" is forbidden: user "a" (groups=["b"]) is attempting to grant RBAC permissions not currently held:`+secret),
			v1.ReasonChildRejected,
			"cannot update X: whoever writes a role needs the rights in it; grant them to templater, or to the account that it works as, too",
		},
		"an admission plugin that is not foreseen": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: the moon is full: `+secret),
			v1.ReasonChildRejected,
			"cannot update X: an admission rule of the API server forbids it; kubectl apply of such an object says which",
		},
		"a quantity": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `failed to convert new object (ns/x; /v1, Kind=Pod) to proper version: unable to convert unstructured object to /v1, Kind=Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`),
			v1.ReasonChildRejected,
			"cannot update X: a quantity of resources is not valid; write it as 250m, 2 or 64Mi",
		},
		"a form that is not foreseen": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `unable to convert unstructured object to /v1, Kind=Pod: cannot convert `+secret),
			v1.ReasonChildRejected,
			"cannot update X: a value has the wrong form for its field",
		},
		"a key twice in a list": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `.spec.containers[name="`+secret+`"].env: duplicate entries for key [name="`+secret+`"]`),
			v1.ReasonChildRejected,
			"cannot update X: .spec.containers[…].env: two items of the list have the same key",
		},
		"a webhook that does not answer": {
			answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "check.example.org": failed to call webhook: Post "https://`+secret+`": EOF`),
			v1.ReasonChildRequestFailed,
			`cannot update X: admission webhook "check.example.org" does not answer as it should`,
		},
		"the order of the server's findings is random": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, "errors:\n  .spec.b: field not declared in schema\n  .spec.a: field not declared in schema"),
			v1.ReasonChildRejected,
			"cannot update X: .spec.a: the schema has no such field; .spec.b: the schema has no such field",
		},
		"a namespace that is not there":  {noNamespace, v1.ReasonNamespaceNotFound, "cannot update X: its namespace does not exist; create the namespace, or change metadata.namespace in the template"},
		"no answer":                      {errors.New("dial " + secret), v1.ReasonChildRequestFailed, "cannot update X: the API server did not answer"},
		"an answer that is not foreseen": {answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, secret), v1.ReasonChildRequestFailed, "cannot update X: the API server answers 429 TooManyRequests"},
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

func TestNamespaceThatEndsIsTold(t *testing.T) {
	ending := answer(http.StatusForbidden, metav1.StatusReasonForbidden, secret, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	got := (&Subject{}).Refusal(ending, "create X", "", kind.Kind{})
	if want := "cannot create X: its namespace is being deleted; "; got.Reason != v1.ReasonNamespaceEnding || !strings.HasPrefix(got.Message, want) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestWebhookThatSpeaksLikeAuthorizationTakesNoRight(t *testing.T) {
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
