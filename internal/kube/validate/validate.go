// Package validate reports what an API server would refuse in objects of built-in kinds. It needs no server.
//
// The types of fields come from package openapi. Tables in this package have the rules that schemas do not contain. It is lenient: what it does not
// know is accepted.
package validate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/templater-dev/templater/internal/kube/openapi"
)

// Write is a write of an object.
type Write struct {
	Kind       schema.GroupVersionKind
	Namespaced bool
	Sent       map[string]any // by the client: the configuration of an apply
	Before     map[string]any // the stored object; nil = it is created
	After      map[string]any // the object to be stored
	// Whole reports whether all fields of Before are known, without defaults of a server.
	Whole bool
}

// BuiltIn returns the response of an API server that refuses the write, or nil. t is the type of a built-in kind. A fault that Before already has is
// not reported, so that Before may be incomplete.
func BuiltIn(w Write, t *openapi.Type) error {
	if err := w.CheckTypes(t); err != nil {
		return err
	}
	errs := faultsOf(w.Kind, t, w.After)
	if w.Before != nil && len(errs) > 0 {
		errs = New(errs, faultsOf(w.Kind, t, w.Before))
	}
	return w.Invalid(slices.Concat(w.Metadata(), errs, w.immutable()))
}

func faultsOf(kind schema.GroupVersionKind, t *openapi.Type, content map[string]any) field.ErrorList {
	c := &checker{kind: kind, claims: list(content, "spec", "volumeClaimTemplates")}
	c.object(t, content, nil)
	return c.errs
}

// New returns the errors that are not in before.
func New(errs, before field.ErrorList) field.ErrorList {
	known := map[string]bool{}
	for _, err := range before {
		known[err.Error()] = true
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return known[err.Error()] })
}

// Invalid returns the response of an API server to an object with errors; nil = there are none.
func (w Write) Invalid(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(w.Kind.GroupKind(), w.name(), errs)
}

func (w Write) name() string {
	metadata, _ := w.After["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// CheckTypes compares the content that was sent with the schema, as server-side apply does.
func (w Write) CheckTypes(t *openapi.Type) error {
	c := &typeCheck{}
	c.value("", t, w.Sent)
	switch {
	case len(c.faults) > 0:
		return refusal(http.StatusInternalServerError, "", fmt.Sprintf("failed to create typed patch object (%s; %s, Kind=%s): %s", w.name(), w.Kind.GroupVersion(), w.Kind.Kind, strings.Join(c.faults, "\n")))
	case c.unreadable != "":
		return refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("unable to convert unstructured object to %s, Kind=%s: %s", w.Kind.GroupVersion(), w.Kind.Kind, c.unreadable))
	}
	return nil
}

func refusal(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}
