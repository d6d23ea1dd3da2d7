// Package poll waits for conditions that nothing announces.
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

// Until calls check now and then every interval, until it returns nil. When
// ctx ends first, the error says so and holds that of the last check.
func Until(ctx context.Context, interval time.Duration, check func() error) error {
	return loop(ctx.Done(), ctx.Err, interval, check)
}

// For is Until with a limit of time. It suits cleaning up, which goes on when
// the context of the work has ended.
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
