package podlogs

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Session holds the logs that one reconciliation of a parent requests. It is not safe for concurrent use.
type Session struct {
	f       *Fetcher
	key     queue.Key
	tenant  string
	as      string
	refresh time.Duration
	asked   map[*log]struct{}
	version uint64
}

// Reading reads the logs that one reconciliation requests. *Session implements it.
type Reading interface {
	// Logs returns the known logs of a Pod by container name.
	Logs(pod *object.Object, o request.LogOptions) map[string]string
	// Version changes whenever the text of a requested log changes.
	Version() uint64
	// End drops the logs of the parent that were not requested.
	End()
}

// Begin returns a Session of a parent that reads logs as that user. Logs of running containers are read again when they
// are older than refresh; 0 means never.
func (f *Fetcher) Begin(key queue.Key, as string, refresh time.Duration) Reading {
	return &Session{f: f, key: key, tenant: f.o.Tenant(key.Controller), as: as, refresh: refresh, asked: map[*log]struct{}{}}
}

// Logs returns the known logs of a Pod by container name. Containers without a log, or whose log is unknown, are
// absent. Missing logs are read in the background, and the parent is enqueued then. Logs decodes the status of the Pod,
// see [object.Object.BytesAt].
func (s *Session) Logs(pod *object.Object, o request.LogOptions) map[string]string {
	containers, at, uid := containersOf(pod.At("status"), o.Previous), pod.Key(), pod.UID()
	out := map[string]string{}
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.f.closed {
		return out
	}
	for _, c := range containers {
		l := s.f.hold(s.key, source{s.tenant, s.as, uid, c.name, o}, at)
		s.asked[l] = struct{}{}
		s.want(l, c.ran)
		s.version += l.version
		if l.known {
			out[c.name] = l.text
		}
	}
	return out
}

// Version changes whenever the text of a requested log changes.
func (s *Session) Version() uint64 { return s.version }

// hold returns a log, and adds it to the logs of the parent. The caller holds the lock.
func (f *Fetcher) hold(key queue.Key, of source, pod types.NamespacedName) *log {
	h := f.parents[key]
	if h == nil {
		h = &holder{key: key, logs: map[*log]struct{}{}}
		f.parents[key] = h
		f.holding.Add(1)
	}
	l := f.logs[of]
	if l == nil {
		of.pod, of.container = types.UID(strings.Clone(string(of.pod))), strings.Clone(of.container) // they are substrings of the Pod's data
		l = &log{source: of, namespace: pod.Namespace, name: pod.Name, controller: key.Controller, parents: map[queue.Key]*holder{}, attempts: attempts{answered: time.Now()}}
		f.logs[of] = l
	}
	if l.parents[key] == nil {
		l.parents[key] = h
		h.logs[l] = struct{}{}
		if l.waiting {
			h.waiting++
		}
		if l.err != nil {
			f.o.Changed(key.Controller)
		}
	}
	return l
}

// want requests the log of a run if it is not known. The caller holds the lock.
func (s *Session) want(l *log, run ran) {
	switch {
	case !l.begun || l.wanted != run:
		l.begun, l.wanted, l.failures = true, ran{strings.Clone(run.id), run.ended}, 0
		s.f.request(l)
	case !run.ended && l.retry == nil && s.refresh > 0 && time.Since(l.asked) >= s.refresh:
		s.f.request(l)
	}
}

// End drops the logs of the parent that this reconciliation did not request. Without a call of End, the parent also
// keeps its previous logs.
func (s *Session) End() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	h := s.f.parents[s.key]
	if h == nil {
		return
	}
	for l := range h.logs {
		if _, asked := s.asked[l]; !asked {
			s.f.release(h, l)
		}
	}
}

// OptionsOf returns the options of a related entry, with the API defaults.
func OptionsOf(of *v1.PodLogs) request.LogOptions {
	logs := *of
	spec.DefaultLogs(&logs)
	return request.LogOptions{TailLines: logs.TailLines, LimitBytes: logs.LimitBytes, Previous: logs.Previous}
}
