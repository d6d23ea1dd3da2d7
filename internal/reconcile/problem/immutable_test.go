package problem

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestImmutable has messages of Kubernetes 1.36. Their values look like messages, too.
func TestImmutable(t *testing.T) {
	const invalid, forbidden = metav1.CauseTypeFieldValueInvalid, metav1.CauseTypeForbidden
	for _, row := range []struct {
		why, message string
		cause        metav1.CauseType
		want         bool
	}{
		{"the selector of a Deployment", `Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`, invalid, true},
		{"the data of an immutable ConfigMap", "Forbidden: field is immutable when `immutable` is set", forbidden, true},
		{"the IP address of a Service", `Invalid value: ["10.0.0.9"]: may not change once set`, invalid, true},
		{"the role of a RoleBinding", `Invalid value: {}: cannot change roleRef`, invalid, true},
		{"the claims of a StatefulSet", "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' and 'minReadySeconds' are forbidden", forbidden, true},
		{"the parameters of a StorageClass", "Forbidden: updates to parameters are forbidden.", forbidden, true},
		{"a Pod", "Forbidden: pod updates may not change fields other than `spec.containers[*].image`\n  {}", forbidden, true},
		{"a claim", "Forbidden: spec is immutable after creation except resources.requests for bound claims", forbidden, true},
		{"a rule of a CRD", `Invalid value: "x": Value is immutable`, invalid, true},
		{"a value that looks like a message", `Invalid value: "field is immutable"`, invalid, false},
		{"a value before another message", `Invalid value: "x: field is immutable": must be short`, invalid, false},
		{"a field that must not be set", "Forbidden: may not be set, because it is immutable", forbidden, false},
		{"another kind of error", "Required value: field is immutable", metav1.CauseTypeFieldValueRequired, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			status := metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: row.cause, Field: "spec", Message: row.message}}}}
			if got := Immutable(&apierrors.StatusError{ErrStatus: status}); got != row.want {
				t.Errorf("immutable: %v, want %v", got, row.want)
			}
			status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: invalid, Field: "spec.x", Message: "Invalid value: 1: must be 2"})
			if Immutable(&apierrors.StatusError{ErrStatus: status}) {
				t.Error("an object with another invalid field would be deleted")
			}
		})
	}
	for _, err := range []error{nil, errors.New("no response"), apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("field is immutable"))} {
		if err != nil && Immutable(err) {
			t.Errorf("%v counts as immutable", err)
		}
	}
	if Immutable(nil) {
		t.Error("no error counts as immutable")
	}
}

func TestMessageForStatefulSetsNamesChangeableFields(t *testing.T) {
	status := metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Kind: "StatefulSet", Causes: []metav1.StatusCause{{
		Type: metav1.CauseTypeForbidden, Field: "spec", Message: "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' and 'minReadySeconds' are forbidden",
	}}}}
	const want = "spec: must not be changed, except for the fields 'replicas', 'ordinals' and 'minReadySeconds'; to replace the object, which deletes all its Pods first, set updateStrategy.onImmutable to Recreate"
	if got := PublicReason(&apierrors.StatusError{ErrStatus: status}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
