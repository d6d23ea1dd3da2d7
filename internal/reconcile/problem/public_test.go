package problem

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

const secret = "s3cr3t"

// answer builds an API server error.
var answer = memserver.Refusal

func TestPublicReasonOmitsValues(t *testing.T) {
	for why, row := range map[string]struct {
		err        error
		unanswered bool
		want       string
	}{
		"an immutable field": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.selector: Invalid value: "+secret+": field is immutable",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.selector", Message: "Invalid value: " + secret + ": field is immutable"}),
			false,
			"spec.selector: field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate",
		},
		"a claim whose data would go": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Details: &metav1.StatusDetails{
				Kind: "PersistentVolumeClaim", Causes: []metav1.StatusCause{{Type: metav1.CauseTypeForbidden, Field: "spec", Message: secret}},
			}}},
			false,
			"spec: must not be set or changed; to replace the object, whose data may then be lost, set updateStrategy.type to Recreate",
		},
		"fields of other managers": {
			answer(http.StatusConflict, metav1.StatusReasonConflict, `Apply failed with 2 conflicts: conflict with "kubectl" using v1: .spec.x`,
				metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.x", Message: `conflict with "kubectl" using v1`},
				metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.y", Message: "conflict with \"some " + secret + "\" with subresource \"status\" using v1"}),
			false,
			".spec.x: owned by field manager kubectl; .spec.y: owned by field manager …",
		},
		"a webhook's conflict": {
			answer(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: `+secret),
			false,
			`denied by admission webhook "no.example.org"`,
		},
		"the key of a list item is a value": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret,
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: `spec.env[name="` + secret + `"].value`, Message: secret}),
			false,
			"spec.env[…].value: required value is missing",
		},
		"a policy": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `deployments.apps "x\"`+secret+`" is forbidden: ValidatingAdmissionPolicy 'no.example.org' with binding 'b' denied request: `+secret),
			false,
			"denied by ValidatingAdmissionPolicy 'no.example.org'",
		},
		"a value that has the words of a policy and of a webhook": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, `Deployment.apps "x" is invalid: spec.a: Invalid value: "is forbidden: ValidatingAdmissionPolicy 'evil' with binding; admission webhook "evil" denied; failed calling webhook "evil"": no`,
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.a", Message: "no"}),
			false,
			"spec.a: invalid value",
		},
		"a reason and a cause that somebody made up": {
			answer(http.StatusTeapot, metav1.StatusReason(secret+"\n"), "no", metav1.StatusCause{Type: metav1.CauseType(secret + "\n"), Field: "spec.a", Message: "no"}),
			false,
			"spec.a: not accepted",
		},
		"a reason that somebody made up": {
			answer(http.StatusTeapot, metav1.StatusReason(secret+"\n"), "no"),
			false,
			"the API server returned 418",
		},
		"a path without an end": {
			answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: strings.Repeat("a.", 300), Message: "no"}),
			false,
			"a field: invalid value",
		},
		"a field that the schema does not know": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="`+secret+`"].foo: field not declared in schema`),
			false,
			".spec.template.spec.containers[…].foo: the schema has no such field",
		},
		"a path that holds a piece of a value is left out": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `.spec.containers[name="a .`+secret+`"].foo: field not declared in schema`),
			false,
			"a field: the schema has no such field",
		},
		"a wrong type": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `.spec.replicas: expected numeric (int or float), got `+secret),
			false,
			".spec.replicas: wrong type, expected number",
		},
		"a webhook": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "check.example.org" denied the request: `+secret),
			false,
			`denied by admission webhook "check.example.org"`,
		},
		"a quota forbids, and no right is missing": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "`+secret+`" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`),
			false,
			"ResourceQuota few is exceeded; raise it, or delete objects that are not needed",
		},
		"a role that grants more than templater has": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `roles.rbac.authorization.k8s.io "`+secret+`" is forbidden: user "a" (groups=["b"]) is attempting to grant RBAC permissions not currently held:`+secret),
			false,
			"writing a role requires all permissions that it grants; grant them to templater, or to the service account that it impersonates",
		},
		"an admission plugin that is not foreseen": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "a" is forbidden: the moon is full: `+secret),
			false,
			"denied by an admission plugin; run kubectl apply with the same object to see which one",
		},
		"a resource quantity": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `failed to convert new object (ns/x; /v1, Kind=Pod) to proper version: unable to convert unstructured object to /v1, Kind=Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`),
			false,
			"a resource quantity is not valid; write it as 250m, 2 or 64Mi",
		},
		"a form that is not foreseen": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `unable to convert unstructured object to /v1, Kind=Pod: cannot convert `+secret),
			false,
			"a value has the wrong format for its field",
		},
		"a key twice in a list": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `.spec.containers[name="`+secret+`"].env: duplicate entries for key [name="`+secret+`"]`),
			false,
			".spec.containers[…].env: two items of the list have the same key",
		},
		"a webhook that does not answer": {
			answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "check.example.org": failed to call webhook: Post "https://`+secret+`": EOF`),
			true,
			`calling admission webhook "check.example.org" failed`,
		},
		"the order of the server's findings is random": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, "errors:\n  .spec.b: field not declared in schema\n  .spec.a: field not declared in schema"),
			false,
			".spec.a: the schema has no such field; .spec.b: the schema has no such field",
		},
		"no answer":                      {errors.New("dial " + secret), true, "the API server did not respond"},
		"a resource that is not served":  {apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", schema.GroupResource{Resource: "widgets"}, secret, secret, 0, true), true, "the API server does not serve this kind at the moment"},
		"an answer that is not foreseen": {answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, secret), true, "the API server returned 429 TooManyRequests"},
		"a Pod Security level": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "`+secret+`" is forbidden: violates PodSecurity "restricted:latest": `+secret),
			false,
			"the Pod Security level restricted of the namespace forbids it; correct the Pod's securityContext and host settings in the template, or choose a less strict level with the label pod-security.kubernetes.io/enforce",
		},
		"a limit range": {
			answer(http.StatusForbidden, metav1.StatusReasonForbidden, `pods "`+secret+`" is forbidden: maximum cpu usage per Container is 1, but limit is `+secret),
			false,
			"its resources violate a LimitRange of the namespace; kubectl describe limitrange shows the limits",
		},
		"data that is not base64": {
			answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, `unable to convert unstructured object to /v1, Kind=Secret: illegal base64 data at input byte 4`),
			false,
			"data is not base64; put plain text under stringData, or use b64enc",
		},
		"another wrong type":       {answer(http.StatusInternalServerError, metav1.StatusReasonUnknown, ".spec.a: expected string, got 1"), false, ".spec.a: wrong type, expected string"},
		"an answer without a code": {answer(0, "", secret), true, "the API server returned 0"},
		"a server that fails":      {answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, secret), true, "the API server returned 500 InternalError"},
		"the longest path":         {answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "", metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: strings.Repeat("a", maxPath)}), false, strings.Repeat("a", maxPath) + ": required value is missing"},
		"a path that is longer":    {answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "", metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: strings.Repeat("a", maxPath+1)}), false, "a field: required value is missing"},
	} {
		t.Run(why, func(t *testing.T) {
			if got := PublicReason(row.err); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if got := Unanswered(row.err); got != row.unanswered {
				t.Errorf("unanswered: %v, want %v", got, row.unanswered)
			}
		})
	}
}

func TestConditionReasonsAreReported(t *testing.T) {
	for reason, want := range map[string]string{"BackOff": "failed (BackOff)", "": "failed", "two words": "failed", secret: "failed"} {
		if got := WithReason("failed", reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

func TestManyCausesAreTruncated(t *testing.T) {
	cause := metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "a"}
	got := PublicReason(answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "", cause, cause, cause, cause, cause))
	if want := "a: invalid value; a: invalid value; a: invalid value; and 2 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnknownCauseTypeIsReported(t *testing.T) {
	if got := fault(metav1.StatusCause{Type: "Odd", Message: secret}, ""); got != "Odd" {
		t.Errorf("got %q", got)
	}
	err := answer(http.StatusBadRequest, metav1.StatusReasonBadRequest, `strict decoding error: unknown field "spec.x"`)
	if got, want := PublicReason(err), "spec.x: the schema has no such field"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCausesWithoutFieldAreOmitted(t *testing.T) {
	err := answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret, metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired}, metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.x"})
	if got, want := PublicReason(err), "spec.x: required value is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnknownStatusCodesAreReported(t *testing.T) {
	for want, err := range map[string]error{
		"the API server returned 418":         answer(http.StatusTeapot, metav1.StatusReasonUnknown, secret),
		"the API server returned 410 Expired": answer(http.StatusGone, metav1.StatusReasonExpired, secret),
	} {
		if got := PublicReason(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPublicNameHidesInvalidNames(t *testing.T) {
	for name, want := range map[string]string{
		"my-name.example.org":    "my-name.example.org",
		"system:node":            "system:node",
		"a\n" + secret:           "…",
		secret + " " + secret:    "…",
		"":                       "…",
		"-" + secret:             "…",
		string(make([]byte, 99)): "…",
	} {
		if got := PublicName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestPublicNameAllowsRBACNames: RBAC objects can have the names of users, other kinds cannot.
func TestPublicNameAllowsRBACNames(t *testing.T) {
	for why, row := range map[string]struct{ group, name, want string }{
		"the name of a user":       {rbacGroup, "bob@acme.io", "bob@acme.io"},
		"a name with a colon":      {rbacGroup, "system:auth-delegator", "system:auth-delegator"},
		"a name with a plus":       {rbacGroup, "+a", "+a"},
		"two segments":             {rbacGroup, "a/b", "…"},
		"no segment":               {rbacGroup, "..", "…"},
		"words":                    {rbacGroup, secret + " " + secret, "…"},
		"a user's name, elsewhere": {"apps", "bob@acme.io", "…"},
	} {
		t.Run(why, func(t *testing.T) {
			if got := PublicNameIn(row.group, row.name); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestEscalationMessageNamesVerbAndRole: the message contains the verb and the role.
func TestEscalationMessageNamesVerbAndRole(t *testing.T) {
	const begin, end = "writing a role requires all permissions that it grants", "; grant them to templater, or to the service account that it impersonates"
	for why, row := range map[string]struct {
		content map[string]any
		want    string
	}{
		"a role":                  {map[string]any{"kind": "Role", "metadata": map[string]any{"name": "a"}}, ", or the verb escalate on roles/a"},
		"a binding of a role":     {map[string]any{"kind": "RoleBinding", "roleRef": map[string]any{"kind": "Role", "name": "a"}}, ", or the verb bind on roles/a"},
		"a binding":               {map[string]any{"kind": "RoleBinding", "roleRef": map[string]any{"kind": "ClusterRole", "name": "admin"}}, ", or the verb bind on clusterroles/admin"},
		"a binding of an unknown": {map[string]any{"kind": "RoleBinding", "roleRef": map[string]any{"kind": secret, "name": secret}}, ""},
		"another kind":            {map[string]any{"kind": "Pod"}, ""},
	} {
		t.Run(why, func(t *testing.T) {
			answered := answer(http.StatusForbidden, metav1.StatusReasonForbidden, `rolebindings.rbac.authorization.k8s.io "a" is forbidden: user "a" (groups=["b"]) is attempting to grant RBAC permissions not currently held:`+secret)
			err := Author(func(string) bool { return true }).About(answered, row.content)
			if got := PublicReason(err); got != begin+row.want+end {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestUnexpectedRenderErrorIsInternalError(t *testing.T) {
	if p := FromTemplate(errors.New("secret")); p.Reason != v1.ReasonInternalError || strings.Contains(p.Message, "secret") || p.Retry != RetryBackoff {
		t.Errorf("got %+v", p)
	}
}
