// Package poll waits for conditions by polling.
package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stop wraps an error that ends polling at once.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// Stop makes a check's error final: Until returns err without trying again.
func Stop(err error) error { return stop{err} }

// Until calls check immediately and then every interval, until it returns nil. If ctx is done first, the error says so
// and wraps the last error of check.
func Until(ctx context.Context, interval time.Duration, check func() error) error {
	return loop(ctx.Done(), ctx.Err, interval, check)
}

// For is Until with a timeout. It suits cleanup, which must run even after the context of the work is done.
func For(limit, interval time.Duration, check func() error) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	return loop(timer.C, func() error { return context.DeadlineExceeded }, interval, check)
}

func loop[T any](done <-chan T, ended func() error, interval time.Duration, check func() error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[stop](err); ok {
			return final.error
		}
		select {
		case <-done:
			return fmt.Errorf("%w: %w", ended(), err)
		case <-ticker.C:
		}
	}
}
