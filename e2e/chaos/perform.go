package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

var loopback = []net.IP{net.IPv4(127, 0, 0, 1)}

// perform plays all lanes at once. When it returns, nothing is broken any more, and
// all operators and the API server run.
func (b *bed) perform(ctx context.Context, round model.Round) error {
	var lanes sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	play := func(actions []model.Action, do func(context.Context, model.Action) error) {
		lanes.Go(func() {
			for _, a := range actions {
				err := pause(ctx, a.After)
				if err == nil {
					err = do(ctx, a)
				}
				if err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("%s: %w", a, err))
					mu.Unlock()
					return
				}
			}
		})
	}
	for _, actions := range round.Users {
		play(actions, b.act)
	}
	for _, actions := range round.Faults {
		play(actions, b.harm)
	}
	lanes.Wait()
	ctx, cancel := context.WithTimeout(ctx, b.patience())
	defer cancel()
	return errors.Join(append(errs, b.operators.start(), b.cluster.AwaitReady(ctx))...)
}

// pause lets time pass: when things happen is part of what is drawn.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var linkFaults = map[model.Verb]link.Fault{
	model.Cut: link.Cut, model.Stall: link.Stall, model.Answer429: link.TooMany,
	model.Answer500: link.ServerError, model.DropAnswers: link.DropAnswers, model.SlowAnswers: link.SlowAnswers,
}

// harm breaks something for a while.
func (b *bed) harm(ctx context.Context, a model.Action) error {
	switch a.Verb {
	case model.KillOperator:
		return errors.Join(b.operators.end(a.Replica-1, syscall.SIGKILL), pause(ctx, a.For), b.operators.start())
	case model.StopOperator:
		return errors.Join(b.operators.end(a.Replica-1, syscall.SIGTERM), pause(ctx, a.For), b.operators.start())
	case model.FreezeOperator:
		thaw, err := b.operators.freeze(a.Replica - 1)
		return errors.Join(err, pause(ctx, a.For), thaw())
	case model.KillAPIServer:
		return b.keepDown(ctx, "kube-apiserver", a.For)
	case model.KillEtcd:
		return b.keepDown(ctx, "etcd", a.For)
	default:
		for i, l := range b.links {
			if a.Replica == 0 || a.Replica == i+1 {
				defer l.Begin(linkFaults[a.Verb])()
			}
		}
		return pause(ctx, a.For)
	}
}

// keepDown kills a component, which is started again by itself, each time until that long is over.
func (b *bed) keepDown(ctx context.Context, component string, long time.Duration) error {
	for began := time.Now(); ; {
		if err := b.cluster.Kill(component); err != nil && !errors.Is(err, proc.ErrGone) {
			return err
		}
		if time.Since(began) > long {
			return nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}
