package admission

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/spec"
)

// review says whether a TemplateController may be written. The error says that the request makes no sense.
func (h *Handler) review(ctx context.Context, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	yes := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return yes, nil
	}
	tc, err := decode("object", request.Object.Raw)
	if err != nil {
		return nil, err
	}
	if tc.DeletionTimestamp != nil || tc.Spec.ClassName != h.Class {
		return yes, nil // whoever serves its class answers
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
	return h.answer(ctx, request, tc, before), nil
}

// answer says what is wrong with a TemplateController that is new, or whose spec was another before.
func (h *Handler) answer(ctx context.Context, request *admissionv1.AdmissionRequest, tc, before *v1.TemplateController) *admissionv1.AdmissionResponse {
	all := h.Check(ctx, tc)
	errors := finding.Of(finding.Error, all)
	if len(errors) > 0 && before != nil {
		errors = fresh(errors, h.Check(ctx, before))
	}
	response := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: len(errors) == 0}
	if !response.Allowed {
		response.Result = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: denial(tc, errors)}
		return response
	}
	response.Warnings = append(warnings(all), h.shared(tc)...)
	return response
}

// shared returns the warnings about other TemplateControllers that write the same ready condition of the same parents: the first by name, and how many more.
func (h *Handler) shared(tc *v1.TemplateController) []string {
	if h.Others == nil {
		return nil
	}
	found := map[string]finding.Finding{}
	for _, other := range h.Others(spec.WatchedKind(&tc.Spec)) {
		if f, ok := spec.SharedReady(tc, other); ok {
			found[other.Name] = f
		}
	}
	if len(found) == 0 {
		return nil
	}
	out := []string{warning(found[slices.Min(slices.Collect(maps.Keys(found)))])}
	if more := len(found) - 1; more > 0 {
		out = append(out, fmt.Sprintf("and %d more TemplateControllers want it", more))
	}
	return out
}

// fresh returns the errors that were not there before, wherever in their template they were. What is wrong already keeps nobody
// from suspending a TemplateController, or from mending one thing after the other.
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

// decode reads a TemplateController. The error holds none of the text.
func decode(what string, text []byte) (*v1.TemplateController, error) {
	tc := &v1.TemplateController{}
	if err := json.Unmarshal(text, tc); err != nil {
		return nil, fmt.Errorf("request.%s is no TemplateController", what)
	}
	return tc, nil
}
