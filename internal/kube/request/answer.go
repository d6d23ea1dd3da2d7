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

// Code returns the HTTP status code of an API error, or 0 if there was no response.
func Code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// WithoutText returns err without the message of the API server's response, which may contain field values, for example if a
// webhook wrote it. Wrapping messages are kept.
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

// Details returns the status details of an API error, or empty details if there are none.
func Details(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// MissingObject reports whether err means that the resource is served, but the object does not exist. A 404 does not say so in
// two other cases: the resource is not served, or an admission webhook denied a write with that code.
func MissingObject(err error) bool {
	return apierrors.IsNotFound(err) && !Unserved(err) && AdmissionRefusal(err) == ""
}

// admission matches the webhook or policy that denied a write. Their names are names of cluster objects, so they are safe to
// publish. The expression is anchored, because a field value in the rest of the message may contain the same words.
var admission = regexp.MustCompile(`^(?:[^ "]+ (?:"(?:[^"\\]|\\.)*" )?is forbidden: )?(admission webhook "[-a-z0-9.]{1,253}"|ValidatingAdmissionPolicy '[-a-z0-9.]{1,253}') `)

// AdmissionRefusal returns the webhook or policy that denied a write, such as `admission webhook "a.example.org"`, or "" if err
// is no such denial. Do not rely on the status code: a webhook can choose it.
func AdmissionRefusal(err error) string {
	if by := admission.FindStringSubmatch(err.Error()); by != nil {
		return by[1]
	}
	return ""
}

// dryRunUnsupported matches the whole message of the API server about a webhook with side effects.
var dryRunUnsupported = regexp.MustCompile(`^admission webhook "[-a-z0-9.]{1,253}" does not support dry run$`)

// DryRunUnsupported reports whether a dry run was rejected because an admission webhook does not support dry runs.
func DryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && dryRunUnsupported.MatchString(err.Error())
}

// Unserved reports whether the resource is not served, for example because its APIService is not registered.
func Unserved(err error) bool {
	return apierrors.IsNotFound(err) && slices.ContainsFunc(Details(err).Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

// MissingNamespace reports whether a request was rejected because the namespace of its object does not exist.
func MissingNamespace(err error) bool {
	return apierrors.IsNotFound(err) && Details(err).Kind == "namespaces"
}

// OwnedFields returns the paths of the fields that caused a conflict of an apply without force, because other managers own them.
func OwnedFields(err error) []string {
	var paths []string
	for _, cause := range Details(err).Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			paths = append(paths, cause.Field)
		}
	}
	return paths
}
