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

// NotFound is the answer where there is no such object.
func NotFound(at request.Location) error {
	return apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
}

// Conflict is the answer where the object has changed, or is another one.
func Conflict(at request.Location) error {
	return apierrors.NewConflict(at.Resource.GroupResource(), at.Name, errors.New("the object has been modified"))
}

// Refusal is an answer with that code, reason and message.
func Refusal(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// otherUID is the answer to a patch of an object that has another UID.
func otherUID(at request.Location, uid string) error {
	faults := field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")}
	return apierrors.NewInvalid(schema.GroupKind{Group: at.Resource.Group, Kind: at.Resource.Resource}, at.Name, faults)
}

// nullStatus is the answer where a status would become null.
func nullStatus() error {
	const message = "status: Invalid value: \"null\": status in body must be of type object: \"null\""
	return Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, message)
}

// fieldConflict is the answer to an apply without force that would change fields of other managers.
func fieldConflict(paths []string) error {
	var causes []metav1.StatusCause
	for _, path := range paths {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "other" using v1`, Field: path})
	}
	return apierrors.NewApplyConflict(causes, fmt.Sprintf("Apply failed with %d conflicts", len(causes)))
}
