package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Path is the URL path of a Handler.
const Path = "/validate-templatecontrollers"

const (
	// maxReviews limits concurrent reviews.
	maxReviews = 2
	// answerLimit is the maximum duration of a review, so that the response arrives within the webhook timeout of the
	// API server, 2 s.
	answerLimit = time.Second
	// readLimit is the part of that time in which the check may read schemas from the API server.
	readLimit = 700 * time.Millisecond
	// bodyTimeout is how long the API server may take to send a request body.
	bodyTimeout = 500 * time.Millisecond
)

// unchecked is the warning if there was no time for a review.
const unchecked = "templater is overloaded and did not validate this: see the conditions of the TemplateController"

// Handler handles admission reviews (v1) of TemplateControllers at Path. It is safe for concurrent use.
type Handler struct {
	// Class is the class of the TemplateControllers that are reviewed. All others are allowed.
	Class string
	// Check returns all lint findings for a TemplateController. Once reading is done, it sends no more requests to the
	// API server, and works with what it has. It returns soon after ctx is done; its result is then meaningless.
	Check func(ctx, reading context.Context, tc *v1.TemplateController) []finding.Finding
	// Refuse returns why a TemplateController would not be compiled because of its memory, without blocking. May be
	// nil.
	Refuse func(tc *v1.TemplateController) []finding.Finding
	// Others yields the accepted TemplateControllers that write a ready condition to parents of that kind, in any
	// order, with only the name, spec.watch and spec.status.readyCondition set. It sends no requests. May be nil.
	Others func(kind schema.GroupKind) iter.Seq[*v1.TemplateController]

	// Begin blocks until a review may compute, or ctx is done, and returns the context of the review. end is called
	// after the review. May be nil.
	Begin func(ctx context.Context) (review context.Context, end func())
	// Reserve blocks until there is memory for a check, and returns a function that releases it. It returns an error if
	// ctx is done first. May be nil.
	Reserve func(ctx context.Context) (release func(), err error)

	inbox              inbox
	slots              chan struct{} // semaphore of reviews
	limit, bodyTimeout time.Duration
}

// New initializes a Handler, and returns it.
func New(h *Handler) *Handler {
	h.inbox.most, h.slots = inboxLimit, make(chan struct{}, maxReviews)
	h.limit, h.bodyTimeout = answerLimit, bodyTimeout
	return h
}

// ServeHTTP responds to a review. If there is no time to check the TemplateController, it is allowed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.limit)
	defer cancel()
	body, err := h.admit(ctx, w, r)
	if errors.Is(err, errBusy) {
		http.Error(w, err.Error(), http.StatusServiceUnavailable) // the API server treats it as an unavailable webhook
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	computing, end := h.begin(ctx)
	release := func() {
		end()
		<-h.slots
	}
	review, err := read(body)
	if err != nil {
		release()
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := make(chan outcome, 1)
	go func() {
		defer release()
		result <- h.look(computing, review.Request)
	}()
	var done outcome
	select {
	case done = <-result:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // the result of an interrupted check is meaningless
		done.err, done.response = nil, &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: []string{unchecked}}
	}
	if done.err != nil {
		http.Error(w, done.err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: done.response}) // an error means that the API server has disconnected
}

var (
	errBusy = errors.New("busy")
	errBody = errors.New("the body is not an AdmissionReview of at most 4 MiB")
)

// admit receives a request, and then acquires a slot for its review, so that slow requests hold no slot. The caller
// must release the slot, unless there is an error. The error is errBusy if there was no time or memory.
func (h *Handler) admit(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(h.bodyTimeout)) // fails with the recorders of tests
	a := h.inbox.begin(func() { _ = conn.SetReadDeadline(time.Now()) })
	defer a.end()
	body, err := a.read(http.MaxBytesReader(w, r.Body, bodyLimit))
	if errors.Is(err, errGivenUp) {
		return nil, errBusy
	}
	if err != nil {
		return nil, errBody
	}
	_ = conn.SetReadDeadline(time.Time{}) // it was for the body
	if !take(ctx, h.slots) {
		return nil, errBusy
	}
	return body, nil
}

// begin calls Begin, if set.
func (h *Handler) begin(ctx context.Context) (review context.Context, end func()) {
	if h.Begin == nil {
		return ctx, func() {}
	}
	return h.Begin(ctx)
}

// take acquires a slot. It returns false if ctx is done first.
func take(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// outcome is the result of a review.
type outcome struct {
	response *admissionv1.AdmissionResponse
	err      error
}

// look calls review, and converts a panic to an error, so that it does not crash the operator.
func (h *Handler) look(ctx context.Context, request *request) (out outcome) {
	defer func() {
		if v := recover(); v != nil {
			klog.FromContext(ctx).Error(nil, "panic in an admission review: this is a bug, please report it", "stack", string(debug.Stack()))
			out = outcome{err: errors.New("the validation failed")}
		}
	}()
	response, err := h.review(ctx, request)
	return outcome{response, err}
}

var reviews = admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")

// review contains the fields of an AdmissionReview that are used: other fields that a client may send use no memory.
type review struct {
	metav1.TypeMeta `json:",inline"`

	Request *request
}

// read decodes a review. The error contains nothing of the text.
func read(body []byte) (*review, error) {
	review := &review{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, errBody
	}
	if review.GroupVersionKind() != reviews || review.Request == nil {
		return nil, fmt.Errorf("the body is not an %s of %s with a request", reviews.Kind, reviews.GroupVersion())
	}
	return review, nil
}
