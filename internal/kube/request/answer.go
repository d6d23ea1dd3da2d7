package request

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Code returns the HTTP status of an error of the API server, or 0 where it has not answered.
func Code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// WithoutText returns an error that says the same as err, but for the text of an answer of the API server: a webhook may have written that, and
// it knows objects of users. What others have added around the answer is kept.
func WithoutText(err error) error {
	code := Code(err)
	if code == 0 {
		return err
	}
	answer := strings.TrimSpace(fmt.Sprintf("the API server returned %d %s", code, http.StatusText(int(code))))
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if _, is := inner.(apierrors.APIStatus); is {
			before, found := strings.CutSuffix(err.Error(), inner.Error())
			if found {
				return errors.New(before + answer)
			}
		}
	}
	return errors.New(answer)
}

// Details returns the details of the API server's answer, which are empty where it gives none.
func Details(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// MissingObject reports whether the server has the resource, and no object of that name. Two other cases answer 404, too, and say nothing
// about the object: a resource that is not served, and an admission webhook that refuses a write with that code.
func MissingObject(err error) bool {
	return apierrors.IsNotFound(err) && !Unserved(err) && AdmissionRefusal(err) == ""
}

// admission matches who refused a write; the names are those of cluster objects. It is anchored, as a value further on may hold the same
// words.
var admission = regexp.MustCompile(`^(?:[^ "]+ (?:"(?:[^"\\]|\\.)*" )?is forbidden: )?(admission webhook "[-a-z0-9.]{1,253}"|ValidatingAdmissionPolicy '[-a-z0-9.]{1,253}') `)

// AdmissionRefusal returns the webhook or the policy that refused a write, such as `admission webhook "a.example.org"`, or "" if none did. A
// webhook chooses the code of its refusal.
func AdmissionRefusal(err error) string {
	if by := admission.FindStringSubmatch(err.Error()); by != nil {
		return by[1]
	}
	return ""
}

// Unserved reports whether the server does not serve the resource, as while its API service is unregistered.
func Unserved(err error) bool {
	return apierrors.IsNotFound(err) && slices.ContainsFunc(Details(err).Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

// MissingNamespace reports whether a request was refused because the namespace of its object does not exist.
func MissingNamespace(err error) bool {
	return apierrors.IsNotFound(err) && Details(err).Kind == "namespaces"
}

// OwnedFields returns the paths of the fields for which an apply without force was refused, because other managers own them.
func OwnedFields(err error) []string {
	var paths []string
	for _, cause := range Details(err).Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			paths = append(paths, cause.Field)
		}
	}
	return paths
}
