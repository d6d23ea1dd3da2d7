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
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

// For is Until with a limit of time.
func For(limit, interval time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return Until(ctx, interval, check)
}
