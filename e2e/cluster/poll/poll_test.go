package poll

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	failure := errors.New("not yet")
	tries := 0
	err := Until(t.Context(), time.Millisecond, func() error {
		if tries++; tries < 3 {
			return failure
		}
		return nil
	})
	if err != nil || tries != 3 {
		t.Errorf("got %v after %d tries, want success after 3", err, tries)
	}
	if err := Until(t.Context(), time.Millisecond, func() error { return Stop(failure) }); !errors.Is(err, failure) {
		t.Errorf("stopped: got %v, want %v", err, failure)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Until(ended, time.Hour, func() error { return failure }); !errors.Is(err, context.Canceled) || !errors.Is(err, failure) {
		t.Errorf("cancelled: got %v, want both errors", err)
	}
	if err := For(time.Millisecond, time.Hour, func() error { return failure }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: got %v, want %v", err, context.DeadlineExceeded)
	}
}
