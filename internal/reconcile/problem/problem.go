// Package problem converts errors to messages that contain no values of objects, and decides when to retry.
package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Problem explains why a parent does not match its templates. Reason and Message are for the parent's ready condition
// and for Events; they contain no values of objects.
type Problem struct {
	Reason  string
	Message string
	// Faults are the schema errors at the end of the message. The API server may report only some of them at a time, so
	// they are merged between reconciliations. About identifies what was written.
	Faults []string
	About  string
	// Write is the write that failed, as in the message: "create ConfigMap default/a". It is empty for other problems.
	Write string
	// Namespace is the namespace of that write. It is empty for other problems and for cluster-scoped objects.
	Namespace string
	// Stopped names the objects that are not updated because this write failed.
	Stopped []string
	Retry   Retry
	// Denial is the missing permission. It is empty for other problems.
	Denial Denial
	// Waiting is true if this is not an error, but something is not ready yet.
	Waiting bool
	// Pending is true if a more specific message will follow soon, so that this one is not reported yet.
	Pending bool
}

// Retry determines when a reconciliation with a problem is retried.
type Retry int

// The retries, from latest to soonest.
const (
	// RetryOnChange waits until the parent, a child or the controller changes.
	RetryOnChange Retry = iota
	// RetryDenied waits until the permission in Denial is granted.
	RetryDenied
	// RetrySlower retries every 30 s, and after some minutes with increasing delays up to 5 min.
	RetrySlower
	// RetrySlow retries every 30 s.
	RetrySlow
	// RetryBackoff retries with increasing delays up to 5 min.
	RetryBackoff
	// RetrySoon retries with increasing delays up to 10 s.
	RetrySoon
	// RetryNow retries quickly, and then with increasing delays up to 10 s. It is for newer data that will arrive
	// soon.
	RetryNow
)

// SlowRetry is the delay of RetrySlow, without jitter.
const SlowRetry = 30 * time.Second

// Newf returns a Problem with RetryOnChange.
func Newf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Denial is a permission that a user lacks: a verb on a resource. Namespace is empty if the permission is needed in the
// whole cluster. The zero Denial means none.
type Denial struct{ User, Verb, Resource, Namespace string }

// Lacks sets the missing permission and its retry. If a more specific message is pending, it retries soon instead.
func (p *Problem) Lacks(permission Denial) *Problem {
	p.Denial, p.Retry = permission, RetryDenied
	if p.Pending {
		p.Retry = RetrySoon
	}
	return p
}

// SetFaults replaces the schema errors at the end of the message.
func (p *Problem) SetFaults(faults []string) {
	if rest, ok := strings.CutSuffix(p.Message, Join(p.Faults)); ok {
		p.Message, p.Faults = rest+Join(faults), faults
	}
}

// FromTemplate returns the Problem of a failed rendering.
func FromTemplate(err error) *Problem {
	var failure *syntax.Error
	if !errors.As(err, &failure) {
		return &Problem{Reason: v1.ReasonInternalError, Message: "rendering failed unexpectedly: see the operator's log", Retry: RetryBackoff}
	}
	switch failure.Reason {
	case syntax.Fail:
		return Newf(v1.ReasonTemplateFailed, "%s", failure.Error())
	case syntax.Wait, syntax.Missing:
		return &Problem{Reason: v1.ReasonWaiting, Message: failure.Message, Waiting: true}
	case syntax.Interrupted:
		return &Problem{Reason: v1.ReasonProgressing, Message: failure.Message, Waiting: true, Pending: true, Retry: RetryNow}
	case syntax.Invalid, syntax.Budget:
	}
	return Newf(v1.ReasonTemplateError, "%s", failure.Error())
}

// ShortMessage is the maximum length of the fallback message of a ready condition, if the API server rejected the full
// one.
const ShortMessage = 256

// TooLarge reports whether the API server may accept a smaller version of the write. For objects that exceed the limit of
// etcd, it returns only an internal error.
func TooLarge(err error) bool {
	if err == nil {
		return false // the common case, without an allocation
	}
	if len(SchemaFaults(err)) > 0 {
		return false
	}
	switch request.Code(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}
