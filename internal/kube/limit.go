package kube

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
)

// RequestLimit is how long a request may take that is no watch, with its retries. The API
// server itself gives up after 60 s (--request-timeout), so what takes longer gets no answer.
const RequestLimit = 90 * time.Second

// answeredKey is for the value of a context that OnAnswer gives.
type answeredKey struct{}

// OnAnswer returns a context that has f called when a request that a Client makes with
// it has ended, whatever the answer; watches do not count.
func OnAnswer(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, answeredKey{}, f)
}

// do makes a request, which ends in time.
func do(ctx context.Context, r *rest.Request) rest.Result {
	return limited(ctx, r, RequestLimit)
}

func limited(ctx context.Context, r *rest.Request, limit time.Duration) rest.Result {
	if f, ok := ctx.Value(answeredKey{}).(func()); ok {
		defer f()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r.Do(ctx)
}
