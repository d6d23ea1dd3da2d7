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

// Session is what one reconciliation of a parent asks for. It is for one goroutine.
type Session struct {
	f       *Fetcher
	key     queue.Key
	tenant  string
	as      string
	refresh time.Duration
	asked   map[*log]struct{}
	version uint64
}

// Reading reads the logs that one reconciliation asks for; *Session does.
type Reading interface {
	// Logs returns what is known of the logs of a Pod by the names of its containers.
	Logs(pod *object.Object, o request.LogOptions) map[string]string
	// Version differs for different texts of the logs that were asked for.
	Version() uint64
	// End forgets the logs of the parent that were not asked for.
	End()
}

// Begin returns a Session of a parent, which reads as that user. Logs of containers that run are read again when they are older than
// refresh; 0 means never.
func (f *Fetcher) Begin(key queue.Key, as string, refresh time.Duration) Reading {
	return &Session{f: f, key: key, tenant: f.o.Tenant(key.Controller), as: as, refresh: refresh, asked: map[*log]struct{}{}}
}

// Logs returns the known logs of a Pod by the names of its containers; a container without a log, or with an unknown one, is
// absent. Missing logs are read in the background, and the parent is queued then. It decodes the status of the Pod, see
// [object.Object.BytesAt].
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

// Version differs for different texts of the logs that the reconciliation has asked for.
func (s *Session) Version() uint64 { return s.version }

// hold returns a log that the parent holds from now on; the lock is held.
func (f *Fetcher) hold(key queue.Key, of source, pod types.NamespacedName) *log {
	h := f.parents[key]
	if h == nil {
		h = &holder{key: key, logs: map[*log]struct{}{}}
		f.parents[key] = h
		f.holding.Add(1)
	}
	l := f.logs[of]
	if l == nil {
		of.pod, of.container = types.UID(strings.Clone(string(of.pod))), strings.Clone(of.container) // which are parts of the Pod's text
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

// want has the log of a run read unless it is known; the lock is held.
func (s *Session) want(l *log, run ran) {
	switch {
	case !l.begun || l.wanted != run:
		l.begun, l.wanted, l.failures = true, ran{strings.Clone(run.id), run.ended}, 0
		s.f.request(l)
	case l.err != nil && l.retry == nil && !final(l.err):
		s.f.request(l) // there was no reconciliation when it was due
	case !run.ended && l.retry == nil && s.refresh > 0 && time.Since(l.asked) >= s.refresh:
		s.f.request(l)
	}
}

// End ends a reconciliation that has asked for all logs of the parent: the other ones are dropped. Without a call of End, the parent also
// keeps the logs that it had before.
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

// OptionsOf are those of an entry, with the defaults of the API.
func OptionsOf(of *v1.PodLogs) request.LogOptions {
	logs := *of
	spec.DefaultLogs(&logs)
	return request.LogOptions{TailLines: logs.TailLines, LimitBytes: logs.LimitBytes, Previous: logs.Previous}
}
