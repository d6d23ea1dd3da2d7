package kube

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

// RequestLimit is how long a request may take that is no watch, with its retries. The API
// server itself gives up after 60 s (--request-timeout), so what takes longer gets no answer.
const RequestLimit = 90 * time.Second

// WatchGrace is how much longer than its timeoutSeconds a watch may take: the server is to end it, with the events that are under way.
const WatchGrace = 30 * time.Second

// RetryAfterLimit is how long a request waits before it is sent again because the answer asks for that.
const RetryAfterLimit = 5 * time.Second

// impatient hands a longer pause on as the failure that it is, so that it is reported at once: a webhook decides how long it is.
type impatient struct{ http.RoundTripper }

func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := i.RoundTripper.RoundTrip(r)
	if err == nil {
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > int(RetryAfterLimit/time.Second) {
			answer.Header.Del("Retry-After")
		}
	}
	return answer, err
}

// do makes a request, which ends in time.
func do(ctx context.Context, r *rest.Request) rest.Result {
	return limited(ctx, r, RequestLimit)
}

func limited(ctx context.Context, r *rest.Request, limit time.Duration) (result rest.Result) {
	if o, ok := request.ObserverOf(ctx); ok {
		o.Asked()
		defer func() {
			text, _ := result.Raw()
			o.Answered(len(text))
		}()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r.Do(ctx)
}

// limitedWatch is a watch with a deadline, which cancel forgets.
type limitedWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop ends the watch.
func (w limitedWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}
