package problem

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
)

const secret = "s3cr3t"

func answer(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

func TestManyCausesAreCutShort(t *testing.T) {
	cause := metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "a"}
	got := PublicReason(answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "", cause, cause, cause, cause, cause))
	if want := "a: invalid value; a: invalid value; a: invalid value; and 2 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFaultsWithoutAWordAreToldByTheirSort(t *testing.T) {
	if got := fault(metav1.StatusCause{Type: "Odd", Message: secret}); got != "Odd" {
		t.Errorf("got %q", got)
	}
	err := answer(http.StatusBadRequest, metav1.StatusReasonBadRequest, `strict decoding error: unknown field "spec.x"`)
	if got, want := PublicReason(err), "spec.x: the schema has no such field"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCausesWithoutAFieldAreNotTold(t *testing.T) {
	err := answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, secret, metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired}, metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.x"})
	if got, want := PublicReason(err), "spec.x: required value is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnswersWithoutWordsAreTold(t *testing.T) {
	for want, err := range map[string]error{
		"the API server answers 418":         answer(http.StatusTeapot, metav1.StatusReasonUnknown, secret),
		"the API server answers 410 Expired": answer(http.StatusGone, metav1.StatusReasonExpired, secret),
	} {
		if got := PublicReason(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNamesThatNoObjectCanHaveAreNotTold(t *testing.T) {
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

func TestRenderingThatFailsUnexpectedly(t *testing.T) {
	if p := FromTemplate(errors.New("secret")); p.Reason != v1.ReasonInternalError || strings.Contains(p.Message, "secret") || p.Retry != RetryBackoff {
		t.Errorf("got %+v", p)
	}
}
