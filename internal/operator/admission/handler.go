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

// Path is where a Handler is to answer.
const Path = "/validate-templatecontrollers"

const (
	// mostReviews is how many requests are reviewed at a time.
	mostReviews = 2
	// answerLimit is how long a writer waits at most. It leaves time for the answer to arrive within the 2 s that the API
	// server waits.
	answerLimit = time.Second
	// readLimit is how much of that the check may wait for the API server, which has the schemas of kinds.
	readLimit = 700 * time.Millisecond
	// bodyTime is how long the API server may take to send one.
	bodyTime = 500 * time.Millisecond
)

// unchecked is the warning if there was no time for a review.
const unchecked = "templater is overloaded and did not validate this: see the conditions of the TemplateController"

// Handler answers admission reviews of TemplateControllers, v1, at Path. It is safe for concurrent use.
type Handler struct {
	// Class is that of the TemplateControllers that are reviewed. All others are allowed.
	Class string
	// Check says all that is wrong with a TemplateController. What it would have to ask the server for when reading has ended, it
	// does without. It ends soon after ctx has, and what it says then means nothing.
	Check func(ctx, reading context.Context, tc *v1.TemplateController) []finding.Finding
	// Refuse says why a TemplateController would not be compiled for the memory that it takes, at once. nil = there is no such reason.
	Refuse func(tc *v1.TemplateController) []finding.Finding
	// Others yields the accepted TemplateControllers that write a ready condition into parents of that kind, in any order: of each no more than
	// the name, spec.watch and spec.status.readyCondition. It makes no request. nil = none are known.
	Others func(kind schema.GroupKind) iter.Seq[*v1.TemplateController]

	// Reserve waits until there is memory for a check, which release gives back, and returns an error when ctx ends before. nil = there is
	// no account of memory.
	Reserve func(ctx context.Context) (release func(), err error)

	inbox           inbox
	places          chan struct{} // a place for each that is reviewed
	limit, bodyTime time.Duration
}

// New completes a Handler, and returns it.
func New(h *Handler) *Handler {
	h.inbox.most, h.places = inboxLimit, make(chan struct{}, mostReviews)
	h.limit, h.bodyTime = answerLimit, bodyTime
	return h
}

// ServeHTTP answers a review. If there is no time to check the TemplateController, it is allowed.
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
	review, err := read(body)
	if err != nil {
		<-h.places
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := make(chan outcome, 1)
	go func() {
		defer func() { <-h.places }()
		result <- h.look(ctx, review.Request)
	}()
	var done outcome
	select {
	case done = <-result:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // what comes of a check that was cut short means nothing
		done.err, done.response = nil, &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: []string{unchecked}}
	}
	if done.err != nil {
		http.Error(w, done.err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: done.response}) // the API server has gone
}

var (
	errBusy = errors.New("busy")
	errBody = errors.New("the body is not an AdmissionReview of at most 4 MiB")
)

// admit receives a request, and then takes a place for it: one that is sent slowly holds none of the few. The caller gives the place
// back, unless there is an error. It is errBusy where there was no time, or no memory.
func (h *Handler) admit(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(h.bodyTime)) // a recorder of tests has none
	a := h.inbox.begin(func() { _ = conn.SetReadDeadline(time.Now()) })
	defer a.end()
	body, err := a.read(http.MaxBytesReader(w, r.Body, bodyLimit))
	if errors.Is(err, errGivenUp) {
		return nil, errBusy
	}
	if err != nil {
		return nil, errBody
	}
	_ = conn.SetReadDeadline(time.Time{}) // that was for the body
	if !take(ctx, h.places) {
		return nil, errBusy
	}
	return body, nil
}

// take takes a place, and reports whether there was one before ctx ended.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
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

// look is review, with a panic turned into an error: it must not end the operator.
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

// review is what is read of an AdmissionReview: all else that a client may have written takes no memory.
type review struct {
	metav1.TypeMeta `json:",inline"`

	Request *request
}

// read reads a review with a request. The error holds none of the text.
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
