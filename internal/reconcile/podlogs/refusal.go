package podlogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

const (
	// deniedFor is how long a refusal counts for the other logs of the namespace, and how long one waits for which there is no room.
	deniedFor = problem.SlowRetry
	// believes is for how long a log lets the refusals of others count that was not asked for itself: the account may read only some
	// Pods of the namespace.
	believes = 5 * time.Minute
)

// audience is the user that reads logs, and the namespace.
type audience struct{ as, namespace string }

// refusal is a response of the server that a permission is missing.
type refusal struct {
	err error
	at  time.Time
}

// refusedLately returns the error of the last request for another log in that namespace by the same user, or nil if this one is to be
// requested: it was readable, or the error is old.
func (f *Fetcher) refusedLately(l *log) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.known || time.Since(l.answered) >= believes {
		return nil
	}
	last, found := f.refused[audience{l.as, l.namespace}]
	if !found || time.Since(last.at) >= deniedFor {
		return nil
	}
	return last.err
}

// noteRefusal remembers that a permission is missing; the lock is held.
func (f *Fetcher) noteRefusal(l *log, err error) {
	to := audience{l.as, l.namespace}
	if last, found := f.refused[to]; permissions.Denied(err) && (!found || last.err != err) { //nolint:errorlint // it is the very answer that is remembered
		maps.DeleteFunc(f.refused, func(_ audience, r refusal) bool { return time.Since(r.at) >= deniedFor })
		f.refused[to] = refusal{err, time.Now()}
	}
}

// allowed takes note that logs of that namespace can be read, and has those read that were refused; the lock is held.
func (f *Fetcher) allowed(l *log) {
	to := audience{l.as, l.namespace}
	if _, found := f.refused[to]; !found {
		return
	}
	delete(f.refused, to)
	for _, other := range f.logs {
		if other != l && other.as == to.as && other.namespace == to.namespace && other.err != nil && permissions.Denied(other.err) {
			f.request(other)
		}
	}
}

// setError sets why a log could not be read, and says so where that is news; the lock is held.
func (f *Fetcher) setError(l *log, err error) {
	before := l.err
	if l.err = err; err == nil {
		l.failures = 0
	}
	if describe(before) == describe(err) {
		return
	}
	for key := range l.parents {
		f.o.Changed(key.Controller)
	}
}

// describe returns equal texts for errors with equal messages.
func describe(err error) string {
	switch {
	case err == nil:
		return ""
	case permissions.Denied(err):
		return "denied"
	}
	return unread(err)
}

// unread says why a log was not read, in words that hold nothing of it. The server asks the kubelet of the node for each.
func unread(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the kubelet did not respond within %s", request.LogLimit)
	case request.Code(err) >= http.StatusInternalServerError:
		return "the kubelet returned no log: " + problem.PublicReason(err)
	}
	return problem.PublicReason(err)
}

// Failure is what keeps some logs from being read.
type Failure struct {
	Namespace string // of the first Pod
	Pod       string // the first one
	Container string
	Logs      int // how many fail in that way
	Err       error
}

// Why returns why the first one was not read, unless a permission or memory was missing.
func (f Failure) Why() string { return unread(f.Err) }

// Denied reports whether a permission is missing: then the failure is about all logs of the namespace.
func (f Failure) Denied() bool { return permissions.Denied(f.Err) }

// Full reports whether it is room that is missing.
func (f Failure) Full() bool { return errors.Is(f.Err, errFull) }

// Failures returns why logs of the parents of a controller cannot be read, in a stable order.
func (f *Fetcher) Failures(controller string) []Failure {
	if f.holding.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[[2]string]*Failure{}
	for _, l := range f.logs {
		if l.err == nil || !l.heldBy(controller) {
			continue
		}
		group := [2]string{describe(l.err)}
		if permissions.Denied(l.err) {
			group[1] = l.namespace
		}
		one := found[group]
		if one == nil {
			one = &Failure{Namespace: l.namespace, Pod: l.name, Container: l.container, Err: l.err}
			found[group] = one
		}
		one.Logs++
		if first := [3]string{l.namespace, l.name, l.container}; slices.Compare(first[:], []string{one.Namespace, one.Pod, one.Container}) < 0 {
			one.Namespace, one.Pod, one.Container, one.Err = l.namespace, l.name, l.container, l.err
		}
	}
	all := make([]Failure, 0, len(found))
	for _, one := range found {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Failure) int {
		return slices.Compare([]string{a.Namespace, a.Pod, a.Container, describe(a.Err)}, []string{b.Namespace, b.Pod, b.Container, describe(b.Err)})
	})
	return all
}

func (l *log) heldBy(controller string) bool {
	for key := range l.parents {
		if key.Controller == controller {
			return true
		}
	}
	return false
}
