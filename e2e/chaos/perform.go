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
	ctx, cancel := context.WithTimeout(ctx, patience)
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
	case model.KillOperator, model.StopOperator:
		signal := syscall.SIGKILL
		if a.Verb == model.StopOperator {
			signal = syscall.SIGTERM
		}
		return errors.Join(b.operators.end(signal), pause(ctx, a.For), b.operators.start())
	case model.KillAPIServer:
		return b.kill("kube-apiserver")
	case model.KillEtcd:
		return b.kill("etcd")
	default:
		end := b.link.Begin(linkFaults[a.Verb])
		defer end()
		return pause(ctx, a.For)
	}
}

// kill kills a component, unless the other lane of faults has just done so.
func (b *bed) kill(component string) error {
	if err := b.cluster.Kill(component); !errors.Is(err, proc.ErrGone) {
		return err
	}
	return nil
}
