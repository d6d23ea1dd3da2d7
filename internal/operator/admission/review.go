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

// request is what is read of an AdmissionRequest.
type request struct {
	UID               types.UID
	SubResource       string
	Operation         admissionv1.Operation
	Object, OldObject runtime.RawExtension
}

// review says whether a TemplateController may be written. The error says that the request makes no sense, or that there was no time.
func (h *Handler) review(ctx context.Context, request *request) (*admissionv1.AdmissionResponse, error) {
	yes := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return yes, nil
	}
	if tooLarge(request.OldObject.Raw) != "" { // it was written when more was allowed
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
		return yes, nil // the installation that serves its class answers
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

// tooMuch returns why a TemplateController would not be compiled because of the memory that it takes, unless that was so before. It needs no
// memory of the check, so that other work cannot delay it.
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

// reserve takes the memory for a check, which release gives back. Where there is none before ctx ends, it returns an error.
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

// answer says what is wrong with a TemplateController that is new, or whose spec was another before.
func (h *Handler) answer(ctx context.Context, request *request, tc, before *v1.TemplateController) *admissionv1.AdmissionResponse {
	reading, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	all := h.Check(ctx, reading, tc)
	errors := finding.Of(finding.Error, all)
	if len(errors) > 0 && before != nil && ctx.Err() == nil { // else the answer is not used
		errors = fresh(errors, h.Check(ctx, reading, before))
	}
	if len(errors) > 0 {
		return refusal(request, denial(tc, errors))
	}
	return &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true, Warnings: append(warnings(all), h.shared(ctx, tc)...)}
}

// shared returns the warnings about other TemplateControllers that write the same ready condition of the same parents: the first by name, and how many more.
// There are none once ctx has ended.
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
		if number++; number == 1 || other.Name < name {
			first, name = f, other.Name
		}
	}
	switch number {
	case 0:
		return nil
	case 1:
		return []string{warning(first)}
	}
	return []string{warning(first), fmt.Sprintf("and %d more TemplateControllers write it", number-1)}
}

// fresh returns the errors that were not there before, wherever in their template they were. Existing errors do not prevent
// users from suspending a TemplateController, or from fixing one error after the other.
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

// decode reads what a check needs of a TemplateController: lists that nothing bounds, such as metadata.managedFields, take much more memory
// than their text. The error holds none of the text.
func decode(what string, text []byte) (*v1.TemplateController, error) {
	var read struct {
		Metadata struct {
			Name              string       `json:"name"`
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Spec v1.TemplateControllerSpec `json:"spec"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("request.%s is not a TemplateController", what)
	}
	tc := &v1.TemplateController{Spec: read.Spec}
	tc.Name, tc.DeletionTimestamp = read.Metadata.Name, read.Metadata.DeletionTimestamp
	return tc, nil
}
