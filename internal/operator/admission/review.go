package admission

import (
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// request contains the fields of an AdmissionRequest that are used.
type request struct {
	UID               types.UID
	SubResource       string
	Operation         admissionv1.Operation
	Object, OldObject runtime.RawExtension
}

// review decides whether a TemplateController may be written. It returns an error if the request is malformed, or ctx
// is done while it waits for memory.
func (h *Handler) review(ctx context.Context, request *request) (*admissionv1.AdmissionResponse, error) {
	yes := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return yes, nil
	}
	if tooLarge(request.OldObject.Raw) != "" { // it was written under other limits
		yes.Warnings = []string{unchecked}
		return yes, nil
	}
	if fault := tooLarge(request.Object.Raw); fault != "" {
		return refusal(request, fault), nil
	}
	tc, err := decode("object", request.Object.Raw)
	if err != nil {
		return nil, err
	}
	if tc.Spec.ClassName != h.Class {
		return yes, nil // the installation that serves its class validates it
	}
	var before *v1.TemplateController
	if request.Operation == admissionv1.Update {
		if before, err = decode("oldObject", request.OldObject.Raw); err != nil {
			return nil, err
		}
		if apiequality.Semantic.DeepEqual(before.Spec, tc.Spec) {
			return yes, nil
		}
	}
	if errors := h.tooMuch(tc, before); len(errors) > 0 {
		return refusal(request, denial(tc, errors)), nil
	}
	if tc.DeletionTimestamp != nil {
		return yes, nil
	}
	release, err := h.reserve(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return h.answer(ctx, request, tc, before), nil
}

// tooMuch returns why a TemplateController would not be compiled because of its memory, unless the previous version has
// the same errors. It needs no reservation, so that other work cannot delay it.
func (h *Handler) tooMuch(tc, before *v1.TemplateController) []finding.Finding {
	if h.Refuse == nil {
		return nil
	}
	errors := h.Refuse(tc)
	if len(errors) > 0 && before != nil {
		errors = fresh(errors, h.Refuse(before))
	}
	return errors
}

// reserve reserves the memory for a check. It returns an error if ctx is done before memory is available.
func (h *Handler) reserve(ctx context.Context) (release func(), err error) {
	if h.Reserve == nil {
		return func() {}, nil
	}
	return h.Reserve(ctx)
}

func refusal(request *request, message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: request.UID, Result: &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: message,
	}}
}

// answer returns the response for a TemplateController that is new or whose spec has changed.
func (h *Handler) answer(ctx context.Context, request *request, tc, before *v1.TemplateController) *admissionv1.AdmissionResponse {
	reading, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	all := h.Check(ctx, reading, tc)
	errors := finding.Of(finding.Error, all)
	if len(errors) > 0 && before != nil && ctx.Err() == nil { // otherwise the response is not used
		errors = fresh(errors, h.Check(ctx, reading, before))
	}
	if len(errors) > 0 {
		return refusal(request, denial(tc, errors))
	}
	return &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true, Warnings: append(warnings(all), h.shared(ctx, tc)...)}
}

// shared returns warnings about other TemplateControllers that write the same ready condition of the same parents: the
// first one by name, and how many more. It returns none if ctx is done.
func (h *Handler) shared(ctx context.Context, tc *v1.TemplateController) []string {
	if h.Others == nil || ctx.Err() != nil {
		return nil
	}
	var first finding.Finding
	name, number := "", 0
	for other := range h.Others(spec.WatchedKind(&tc.Spec)) {
		if ctx.Err() != nil {
			return nil
		}
		f, ok := spec.SharedReady(tc, other)
		if !ok {
			continue
		}
		if number++; number == 1 || other.Key() < name {
			first, name = f, other.Key()
		}
	}
	switch number {
	case 0:
		return nil
	case 1:
		return []string{warning(first)}
	}
	return []string{warning(first), fmt.Sprintf("%d more TemplateControllers write the same ready condition", number-1)}
}

// fresh returns the errors that the previous version does not have, wherever they are in their template. Existing
// errors do not prevent users from suspending a TemplateController, or from fixing one error after the other.
func fresh(errors, before []finding.Finding) []finding.Finding {
	type what struct {
		code           finding.Code
		where, message string
	}
	known := map[what]bool{}
	for _, f := range finding.Of(finding.Error, before) {
		known[what{f.Code, f.Where, f.Message}] = true
	}
	var out []finding.Finding
	for _, f := range errors {
		if !known[what{f.Code, f.Where, f.Message}] {
			out = append(out, f)
		}
	}
	return out
}

// decode decodes the fields of a TemplateController that a check needs: unbounded lists, such as
// metadata.managedFields, use much more memory than their text. The error contains nothing of the text.
func decode(what string, text []byte) (*v1.TemplateController, error) {
	var read struct {
		Metadata struct {
			Namespace         string       `json:"namespace"`
			Name              string       `json:"name"`
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Spec v1.TemplateControllerSpec `json:"spec"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("request.%s is not a TemplateController", what)
	}
	tc := &v1.TemplateController{Spec: read.Spec}
	tc.Namespace, tc.Name, tc.DeletionTimestamp = read.Metadata.Namespace, read.Metadata.Name, read.Metadata.DeletionTimestamp
	spec.Confine(tc.Namespace, &tc.Spec)
	return tc, nil
}
