package request

import "context"

// Observer hears of the requests that a Client makes, one after the other; watches do not count.
type Observer interface {
	// Asked is called before a request begins.
	Asked()
	// Answered is called when it has ended, whatever the answer, which has so many bytes.
	Answered(size int)
}

// observerKey is for the value of a context that WithObserver gives.
type observerKey struct{}

// WithObserver returns a context whose requests o hears of.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// ObserverOf returns the Observer of a context, or false.
func ObserverOf(ctx context.Context) (Observer, bool) {
	o, ok := ctx.Value(observerKey{}).(Observer)
	return o, ok
}
