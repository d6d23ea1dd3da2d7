// Package answers says what an error of the API server tells, by its code and its details alone. It needs no client.
package answers

import (
	"errors"
	"slices"

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

// Details returns the details of the API server's answer, which are empty where it gives none.
func Details(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}

// MissingObject reports whether the server has the resource, and no object of that name. A resource that is not served answers 404,
// too, and says nothing about its objects: an API that is away keeps them.
func MissingObject(err error) bool { return apierrors.IsNotFound(err) && !Unserved(err) }

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
