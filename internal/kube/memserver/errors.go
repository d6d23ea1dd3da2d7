package memserver

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/templater-dev/templater/internal/kube/request"
)

// NotFound returns the error for an object that does not exist.
func NotFound(at request.Location) error {
	return apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
}

// Conflict returns the error for an object with another resource version or UID.
func Conflict(at request.Location) error {
	return apierrors.NewConflict(at.Resource.GroupResource(), at.Name, errors.New("the object has been modified"))
}

// Refusal returns an API error with that code, reason and message.
func Refusal(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// otherUID returns the error for a patch with the UID of another object.
func otherUID(at request.Location, uid string) error {
	faults := field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")}
	return apierrors.NewInvalid(schema.GroupKind{Group: at.Resource.Group, Kind: at.Resource.Resource}, at.Name, faults)
}

// nullStatus returns the error for a status that would become null.
func nullStatus() error {
	const message = "status: Invalid value: \"null\": status in body must be of type object: \"null\""
	return Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, message)
}

// fieldConflict returns the error for an apply without force that would change fields of other managers.
func fieldConflict(paths []string) error {
	var causes []metav1.StatusCause
	for _, path := range paths {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "other" using v1`, Field: path})
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts", len(causes)))
}
