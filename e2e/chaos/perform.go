package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/cluster/proc"
)

var loopback = []net.IP{net.IPv4(127, 0, 0, 1)}

// perform runs all lanes concurrently. When it returns, all faults have ended, and all operators and the API server are
// running.
func (h *harness) perform(ctx context.Context, round model.Round) error {
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
	if round.Slow != "" {
		var err error
		if h.endSlow, err = h.slow(ctx, round.Slow); err != nil {
			return err
		}
	}
	for _, actions := range round.Users {
		play(actions, h.act)
	}
	for _, actions := range round.Faults {
		play(actions, h.harm)
	}
	lanes.Wait()
	h.held.Wait()
	errs = append(errs, h.failed...)
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	return errors.Join(append(errs, h.operators.start(), h.cluster.AwaitReady(ctx))...)
}

// pause sleeps: timing is part of what is generated.
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
	model.LateAnswers: link.LateAnswers,
}

// watchFaults are the status codes of responses to lists and watches of one resource.
var watchFaults = map[model.Verb]int{
	model.Watches403: http.StatusForbidden, model.Watches500: http.StatusInternalServerError, model.Watches410: http.StatusGone,
}

// harm injects a fault for a while.
func (h *harness) harm(ctx context.Context, a model.Action) error {
	switch a.Verb {
	case model.KillOperator:
		return errors.Join(h.operators.end(a.Replica-1, syscall.SIGKILL), pause(ctx, a.For), h.operators.start())
	case model.StopOperator:
		return errors.Join(h.operators.end(a.Replica-1, syscall.SIGTERM), pause(ctx, a.For), h.operators.start())
	case model.FreezeOperator:
		thaw, err := h.operators.freeze(a.Replica - 1)
		return errors.Join(err, pause(ctx, a.For), thaw())
	case model.KillAPIServer:
		return h.keepDown(ctx, "kube-apiserver", a.For)
	case model.KillEtcd:
		return h.keepDown(ctx, "etcd", a.For)
	case model.RevokePermission:
		giveBack, err := h.revoke(ctx, a.Permission)
		return errors.Join(err, pause(ctx, a.For), giveBack())
	case model.FailLogs:
		defer h.kubelet.fail()()
		return pause(ctx, a.For)
	case model.CompactEtcd:
		return errors.Join(h.compact(ctx), h.keepDown(ctx, "kube-apiserver", a.For))
	default:
		var ends []func() error
		var errs []error
		for i := range h.links {
			if a.Replica == 0 || a.Replica == i+1 {
				end, err := h.harmReplica(i, a)
				ends, errs = append(ends, end), append(errs, err)
			}
		}
		errs = append(errs, pause(ctx, a.For))
		for _, end := range ends {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
}

// harmReplica injects a fault into a replica until end is called. end is never nil.
func (h *harness) harmReplica(i int, a model.Action) (end func() error, err error) {
	if a.Verb == model.JumpClock {
		return h.operators.jump(i, a.Offset)
	}
	l, code := h.links[i], watchFaults[a.Verb]
	var stop func()
	switch {
	case code != 0:
		stop = l.RefuseWatches(a.Resource, code)
	case a.Verb == model.HoldWatches:
		stop = l.HoldWatches(a.Resource)
	case a.Verb == model.ShiftDates:
		stop = l.ShiftDates(a.Offset)
	default:
		stop = l.Begin(linkFaults[a.Verb])
	}
	return func() error { stop(); return nil }, nil
}

// keepDown repeatedly kills a component, which is restarted automatically, for the given duration.
func (h *harness) keepDown(ctx context.Context, component string, long time.Duration) error {
	for began := time.Now(); ; {
		if err := h.cluster.Kill(component); err != nil && !errors.Is(err, proc.ErrGone) {
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

// compact makes etcd discard all but the latest revisions.
func (h *harness) compact(ctx context.Context) error {
	ask := func(path, body string, into any) error {
		url := fmt.Sprintf("http://127.0.0.1:%d/v3/%s", h.cluster.EtcdPort, path)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return poll.Stop(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("etcd answers %s", response.Status)
		}
		return json.NewDecoder(response.Body).Decode(into)
	}
	return h.insist(ctx, "compact etcd", func() error {
		var status struct {
			Header struct {
				Revision string `json:"revision"`
			} `json:"header"`
		}
		if err := ask("maintenance/status", "{}", &status); err != nil {
			return err
		}
		return ask("kv/compaction", fmt.Sprintf(`{"revision": %q}`, status.Header.Revision), &struct{}{})
	})
}
