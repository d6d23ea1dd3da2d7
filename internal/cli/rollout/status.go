package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/templater-dev/templater/internal/kube/request"
)

// StatusOptions are the options of Status.
type StatusOptions struct {
	// Watch waits until the rollout ends.
	Watch bool
	// Timeout is how long to wait; 0 means without limit.
	Timeout time.Duration
	// Revision is the number of the expected revision; 0 means any.
	Revision int64
}

var errTimeout = errors.New("timed out waiting for the condition")

// Status prints the state of the rollout whenever it changes, until the rollout ends. It returns a FailedError if the rollout fails.
func (r *Rollout) Status(ctx context.Context, o StatusOptions) error {
	if o.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	f := &follower{Rollout: r}
	err := f.follow(ctx, o)
	switch cause := context.Cause(ctx); {
	case err == nil || cause == nil:
		return err
	case errors.Is(cause, errTimeout):
		return failure("%v: %s", cause, f.last)
	default:
		return fmt.Errorf("interrupted: %w", cause)
	}
}

// follower follows a rollout.
type follower struct {
	*Rollout

	id   string // of the expected revision; "" means any
	last string // the last printed message
}

// follow prints the state, and watches the object until the rollout ends. It starts a watch that has ended again, after a pause.
func (f *follower) follow(ctx context.Context, o StatusOptions) error {
	now, err := f.get(ctx)
	if err != nil {
		return err
	}
	if err := f.expect(ctx, now, o.Revision); err != nil {
		return err
	}
	for {
		if err == nil {
			if done, err := f.show(now); done || err != nil || !o.Watch {
				return err
			}
			if done, err := f.watch(ctx, now.ResourceVersion); done || final(err) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.Rollout.Pause):
		}
		if now, err = f.get(ctx); final(err) {
			return err
		}
	}
}

// expect finds the expected revision.
func (f *follower) expect(ctx context.Context, now *live, number int64) error {
	if number == 0 {
		return nil
	}
	all, err := f.revisions(ctx, now)
	if err != nil {
		return err
	}
	expected, err := f.numbered(all, number)
	if err == nil {
		f.id = expected.id
	}
	return err
}

// show prints a state that has changed. done is true at the end of the rollout.
func (f *follower) show(now *live) (done bool, err error) {
	s := f.state(now, f.id)
	if s.failed {
		return true, failure("%s", s.message)
	}
	if s.message != f.last {
		f.last = s.message
		fmt.Fprintln(f.Out, s.message)
	}
	return s.done, nil
}

// final reports whether a request fails in the same way when it is repeated.
func final(err error) bool {
	code := request.Code(err)
	return code >= 400 && code < 500 && code != 410 && code != 429
}

// watch prints states until the rollout or the watch ends. done is true for the former.
func (f *follower) watch(ctx context.Context, version string) (done bool, err error) {
	events, err := f.Client.Watch(ctx, f.at(), version)
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", f.title(), err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case event, open := <-events.ResultChan():
			raw, ok := event.Object.(*unstructured.Unstructured)
			switch {
			case !open || event.Type == watch.Error:
				return false, nil
			case !ok || raw.GetName() != f.at().Name:
				continue
			case event.Type == watch.Deleted:
				return true, failure("%s has been deleted", f.title())
			}
			now, err := liveOf(raw)
			if err != nil {
				return true, err
			}
			if done, err := f.show(now); done || err != nil {
				return true, err
			}
		}
	}
}
