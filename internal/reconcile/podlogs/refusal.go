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
	// deniedFor is how long a denied request counts for the other logs of the namespace, and the retry delay of logs
	// that were denied or exceeded the memory limit.
	deniedFor = problem.SlowRetry
	// ownRequestAfter is how long a log relies on denied requests for other logs before it is requested itself, because the
	// service account may be allowed to read only some Pods of the namespace.
	ownRequestAfter = 5 * time.Minute
)

// access is a user that reads logs in a namespace.
type access struct{ as, namespace string }

// refusal is a Forbidden response.
type refusal struct {
	err error
	at  time.Time
}

// refusedLately returns the error if another log in the same namespace was recently denied to the same user. It returns
// nil if this log should be requested: the error is old, this log is known, or has not been requested itself for long.
func (f *Fetcher) refusedLately(l *log) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.known || time.Since(l.answered) >= ownRequestAfter {
		return nil
	}
	last, found := f.refused[access{l.as, l.namespace}]
	if !found || time.Since(last.at) >= deniedFor {
		return nil
	}
	return last.err
}

// noteRefusal records that a permission is missing. The caller holds the lock.
func (f *Fetcher) noteRefusal(l *log, err error) {
	to := access{l.as, l.namespace}
	// A repeated error must not extend the backoff.
	if last, found := f.refused[to]; permissions.Denied(err) && (!found || last.err != err) { //nolint:errorlint // compares identity
		maps.DeleteFunc(f.refused, func(_ access, r refusal) bool { return time.Since(r.at) >= deniedFor })
		f.refused[to] = refusal{err, time.Now()}
	}
}

// allowed records that logs of that namespace can be read, and requests those that were denied. The caller holds the
// lock.
func (f *Fetcher) allowed(l *log) {
	to := access{l.as, l.namespace}
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

// setError sets or clears the error of a log, and calls Changed if its message is new. The caller holds the lock.
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
	return failureText(err)
}

// failureText describes why a log was not read, without any part of the log. The API server requests each log from the
// kubelet.
func failureText(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the kubelet did not respond within %s", request.LogLimit)
	case request.Code(err) >= http.StatusInternalServerError:
		return "the kubelet returned no log: " + problem.PublicReason(err)
	}
	return problem.PublicReason(err)
}

// Failure describes why some logs cannot be read.
type Failure struct {
	Namespace string // of the first Pod
	Pod       string // the first one
	Container string
	Logs      int // number of logs that fail in the same way
	Err       error
}

// Why returns why the first log was not read. It does not apply if Denied or Full is true.
func (f Failure) Why() string { return failureText(f.Err) }

// Denied reports whether a permission is missing. The failure is then about all logs of the namespace.
func (f Failure) Denied() bool { return permissions.Denied(f.Err) }

// Full reports whether the memory limit was reached.
func (f Failure) Full() bool { return errors.Is(f.Err, errFull) }

// Failures returns why logs cannot be read for the parents of a controller, sorted by the first Pod and container.
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
