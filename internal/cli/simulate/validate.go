package simulate

import (
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/validate"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/crd"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Validators validate objects as an API server does. They are safe for concurrent use.
type Validators struct {
	kinds   kinds
	schemas openapi.Set // nil = none

	mu  sync.Mutex
	all map[schema.GroupVersionKind]*crd.Validator // nil values = no usable schema
}

// NewValidators returns the Validators of built-in kinds and of CustomResourceDefinitions. known has the types of their kinds; nil = none.
func NewValidators(definitions kind.Declared, known openapi.Set) *Validators {
	return &Validators{kinds: kinds{declared: definitions}, schemas: known, all: map[schema.GroupVersionKind]*crd.Validator{}}
}

// of returns the Validator of a custom kind; nil = none.
func (v *Validators) of(gvk schema.GroupVersionKind, content map[string]any) *crd.Validator {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, known := v.all[gvk]
	if !known {
		found, _ = crd.NewValidator(content) // lint reports invalid definitions
		v.all[gvk] = found
	}
	return found
}

// accept returns the response of an API server that refuses an apply.
func (s *Simulator) accept(sent map[string]any, before, after *unstructured.Unstructured) error {
	w := validate.Write{Sent: sent, After: after.Object}
	if before != nil {
		w.Before, w.Whole = before.Object, applied(before)
	}
	return s.validators.Refusal(w)
}

// applied reports whether all fields of an object come from applies to a simulated server, which sets no defaults.
func applied(o *unstructured.Unstructured) bool {
	managers := o.GetManagedFields()
	return len(managers) > 0 && !slices.ContainsFunc(managers, func(m metav1.ManagedFieldsEntry) bool { return m.Time != nil })
}

// Refusal returns the response of an API server that refuses a write, whose Kind and Namespaced it sets; nil = it accepts it, as far as is known.
func (v *Validators) Refusal(w validate.Write) error {
	w.Kind = child.GVKOf(w.After)
	w.Namespaced = v.kinds.find(w.Kind).Namespaced
	if content := v.kinds.declared.Schema(w.Kind); content != nil {
		return v.ofCustom(w, content)
	}
	if t, _ := openapi.BuiltIn().Lookup(w.Kind); t != nil {
		return validate.BuiltIn(w, t)
	}
	return w.Invalid(w.Metadata())
}

func (v *Validators) ofCustom(w validate.Write, content map[string]any) error {
	if v.schemas != nil {
		if t, _ := v.schemas.Lookup(w.Kind); t != nil {
			if err := w.CheckTypes(t); err != nil {
				return err
			}
		}
	}
	errs := w.Metadata()
	if validator := v.of(w.Kind, content); validator != nil {
		found := validator.Validate(w.Before, w.After)
		if w.Before != nil && len(found) > 0 {
			found = validate.New(found, validator.Validate(nil, w.Before))
		}
		errs = append(errs, found...)
	}
	return w.Invalid(errs)
}

// RefusedError is the reason why an API server would refuse a parent.
type RefusedError struct{ message string }

func (e *RefusedError) Error() string { return e.message }

// checkParent returns a *RefusedError if an API server would refuse the parent. before is nil if it creates the parent.
func (s *Simulator) checkParent(before, after map[string]any) error {
	sent := map[string]any{}
	for name, v := range after {
		if name != "status" {
			sent[name] = v
		}
	}
	if err := s.validators.Refusal(validate.Write{Sent: sent, Before: before, After: after, Whole: true}); err != nil {
		return &RefusedError{"the API server would refuse " + nameOf(after) + ": " + problem.ReasonOfParent(err)}
	}
	return nil
}

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// checkNamespace returns the response of an API server to the creation of an object in a namespace that is being deleted, or that templates render
// but that does not exist yet. Other namespaces are assumed to exist.
func (w *fakeCluster) checkNamespace(verb string, at request.Location) error {
	if verb != "create" || at.Namespace == "" {
		return nil
	}
	switch namespace := w.server.Objects[request.Location{Resource: namespaces, Name: at.Namespace}]; {
	case namespace != nil && namespace.GetDeletionTimestamp() != nil:
		return memserver.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "the namespace is being terminated", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	case namespace == nil && slices.ContainsFunc(w.report.Desired.Wanted, func(o *child.Wanted) bool { return o.Kind.Resource == namespaces && o.Name.Name == at.Namespace }):
		return memserver.NotFound(request.Location{Resource: namespaces, Name: at.Namespace})
	}
	return nil
}
