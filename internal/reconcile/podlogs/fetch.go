package podlogs

import (
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/templater-dev/templater/internal/reconcile/permissions"
)

// request queues a request for a log, unless one is pending. The caller holds the lock.
func (f *Fetcher) request(l *log) {
	if l.waiting || f.closed {
		return
	}
	l.stopRetry()
	l.asked = time.Now()
	if !f.tenants.takeRoom(l) {
		f.failed(l, result{err: errFull})
		return
	}
	f.setWaiting(l, true)
	t := f.tenants.get(l.tenant)
	t.queue = append(t.queue, l)
	if t.readers < maxRequestsPerTenant {
		t.readers++
		f.done.Go(func() { f.work(l.tenant, t) })
	}
}

func (f *Fetcher) setWaiting(l *log, waiting bool) {
	l.waiting = waiting
	for _, h := range l.parents {
		if waiting {
			h.waiting++
		} else {
			h.waiting--
		}
	}
}

// work reads logs for a tenant until its queue is empty.
func (f *Fetcher) work(name string, t *tenant) {
	for {
		l, run := f.next(name, t)
		if l == nil {
			return
		}
		f.settle(l, run, f.fetch(t, l))
	}
}

// result is the result of a request for a log.
type result struct {
	text     string
	err      error
	believed bool // no request was sent, because another log of the namespace was denied
}

// next returns the next log to read, and the run of its container to read it for. It returns nil if none is queued.
func (f *Fetcher) next(name string, t *tenant) (*log, ran) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(t.queue) > 0 && !f.closed {
		l := t.queue[0]
		t.queue = t.queue[1:]
		if f.logs[l.source] == l { // it is still held
			return l, l.wanted
		}
	}
	t.queue = nil
	t.readers--
	f.tenants.tidy(name)
	return nil, ran{}
}

// fetch reads a log within the limits, and charges for it.
func (f *Fetcher) fetch(t *tenant, l *log) result {
	if err := f.refusedLately(l); err != nil {
		return result{err: err, believed: true}
	}
	if err := t.rate.Wait(f.ctx); err != nil {
		return result{err: err}
	}
	select {
	case <-f.ctx.Done():
		return result{err: f.ctx.Err()}
	case f.places <- struct{}{}:
		defer func() { <-f.places }()
	}
	start := time.Now()
	text, err := f.o.Reader(l.as).Log(f.ctx, l.namespace, l.name, l.container, l.options)
	f.o.Charge(l.controller, time.Since(start))
	return result{text: text, err: err}
}

// settle stores a response, and queues the parents for which it changes something.
func (f *Fetcher) settle(l *log, of ran, got result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.logs[l.source] != l {
		return
	}
	f.setWaiting(l, false)
	if !got.believed {
		l.answered = time.Now()
	}
	if l.wanted != of {
		f.request(l) // the container has started or ended meanwhile
		return
	}
	if got.err != nil {
		f.failed(l, got)
		return
	}
	f.allowed(l)
	news := !l.known || l.text != got.text
	l.known, l.text, l.of = true, got.text, of
	f.setError(l, nil)
	f.tell(l, news)
}

// failed records that a log cannot be read. The known log of the same run is kept, unless the request for this very log
// was denied. The caller holds the lock.
func (f *Fetcher) failed(l *log, got result) {
	err, news := got.err, false
	if l.known && (l.of != l.wanted || permissions.Denied(err) && !got.believed) {
		l.known, l.text, news = false, "", true
	}
	f.setError(l, err)
	f.noteRefusal(l, err)
	f.tell(l, news)
	if final(err) {
		return // until the container runs again
	}
	wait := min(firstLogRetry<<min(l.failures, 10), lastLogRetry)
	if permissions.Denied(err) || errors.Is(err, errFull) {
		wait = deniedFor
	}
	l.failures++
	l.retry = time.AfterFunc(wait, func() { f.again(l) })
}

// final reports whether there is no such log and never will be: the Pod or the log of the container was deleted.
func final(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) }

// again retries a log that could not be read. While its parents are not reconciled, it only drops the error, which may no
// longer apply: the next reconciliation requests the log.
func (f *Fetcher) again(l *log) {
	wanted := slices.ContainsFunc(f.makeDue(l), f.o.Runs)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case l.begun || f.logs[l.source] != l: // a reconciliation has requested it meanwhile, or it is no longer held
	case wanted:
		l.begun = true
		f.request(l)
	default:
		f.setError(l, nil)
	}
}

// makeDue lets the next reconciliation request a log, and returns the TemplateControllers that hold it.
func (f *Fetcher) makeDue(l *log) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.waiting {
		return nil
	}
	l.stopRetry()
	l.begun = false
	var names []string
	for key := range l.parents {
		if !slices.Contains(names, key.Controller) {
			names = append(names, key.Controller)
		}
	}
	return names
}

// tell enqueues the parents that hold a log if it has changed. A parent that waits for more logs is enqueued when these
// have been read, or after a short time. The caller holds the lock.
func (f *Fetcher) tell(l *log, news bool) {
	if !news {
		return
	}
	f.news++
	l.version = f.news
	for key, h := range l.parents {
		after := time.Duration(0)
		if h.waiting > 0 {
			after = gather
		}
		f.o.Wake(key, after)
	}
}

// Limits per Pod: users who may write its status can write anything there.
const (
	maxContainers    = 256
	maxContainerName = 63  // length of the name
	maxRunID         = 256 // length of the ID
)

// ran identifies a run of a container, and whether it has ended, so that its log no longer changes.
type ran struct {
	id    string // containerID of the container status
	ended bool
}

// container is a container that has a log.
type container struct {
	name string
	ran  ran
}

// containersOf returns the containers that have a log according to status, the status of a Pod as JSON data. previous
// selects the logs of the previous runs.
func containersOf(status any, previous bool) []container {
	var all []container
	of, _ := status.(map[string]any)
	for _, field := range []string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"} {
		list, _ := of[field].([]any)
		for _, item := range list {
			status, _ := item.(map[string]any)
			name, _ := status["name"].(string)
			run, has := lastRun(status, previous)
			if !has || name == "" || len(name) > maxContainerName || len(run.id) > maxRunID {
				continue
			}
			if all = append(all, container{name, run}); len(all) == maxContainers {
				return all
			}
		}
	}
	return all
}

// lastRun returns the run that the log of a container belongs to. For a container that waits for a restart, that is its
// last run. has is false if there is no log.
func lastRun(status map[string]any, previous bool) (run ran, has bool) {
	state, _ := status["state"].(map[string]any)
	if _, running := state["running"]; running && !previous {
		id, _ := status["containerID"].(string)
		return ran{id: id}, true
	}
	if previous || state["terminated"] == nil {
		state, _ = status["lastState"].(map[string]any)
	}
	terminated, _ := state["terminated"].(map[string]any)
	id, _ := terminated["containerID"].(string)
	return ran{id: id, ended: true}, id != "" // without an ID, it has never started
}
