// Package podlogs reads the logs of Pods in the background, so that no reconciliation waits for them.
package podlogs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// mostAtOnce and mostOfTenant are how many requests for logs are under way at a time, in all and for one tenant.
	mostAtOnce, mostOfTenant = 16, 4
	// requestsPerSecond and requestBurst limit the requests for one tenant.
	requestsPerSecond, requestBurst = 50, 100
	// MostHeld is how many bytes of logs are kept. Each log counts with its limitBytes and perLog.
	MostHeld = 64 << 20
	// MostHeldOfTenant is how many of them may be held for one tenant.
	MostHeldOfTenant = 16 << 20
	perLog           = 1 << 10
	// firstLogRetry is when a log is asked for again that could not be read; each further try waits twice as long, up to lastLogRetry.
	firstLogRetry, lastLogRetry = 5 * time.Second, 5 * time.Minute
	// gather is how long the first of several logs waits for the others before their parent is queued.
	gather = time.Second
)

// Reader reads logs as one user; a kube.Client does.
type Reader interface {
	Log(ctx context.Context, namespace, pod, container string, o request.LogOptions) (string, error)
}

// Options are what a Fetcher works with.
type Options struct {
	// Reader returns what reads as that user; empty is the operator itself.
	Reader func(as string) Reader
	// Tenant returns the tenant of a TemplateController. Those that read as one service account are of one tenant.
	Tenant func(controller string) string
	// Runs reports whether templates are executed for a TemplateController, as is not so for one that is suspended or not accepted.
	Runs func(controller string) bool
	// Charge is called with the time that the server took for a log that was read for a TemplateController.
	Charge func(controller string, took time.Duration)
	// Wake queues a parent after a delay, because logs that it asked for have come.
	Wake func(parent queue.Key, after time.Duration)
	// Changed is called with a TemplateController when the errors of its logs have changed. None of these functions may call the Fetcher.
	Changed func(controller string)
}

// Fetcher reads logs in the background, and keeps those that reconciliations have asked for until they no longer do. It is safe for
// concurrent use. It has no goroutine while no log is held.
type Fetcher struct {
	o Options
	requests

	holding atomic.Int64 // parents

	mu      sync.Mutex
	closed  bool
	logs    map[source]*log
	parents map[queue.Key]*holder
	tenants tenants
	refused map[audience]refusal
	news    uint64 // how many texts have come and gone
}

// requests are the life of those of a Fetcher.
type requests struct {
	ctx    context.Context //nolint:containedctx // which outlives the reconciliations that ask for logs
	stop   context.CancelFunc
	done   sync.WaitGroup
	places chan struct{} // one for each request under way
}

// source identifies a log.
type source struct {
	tenant    string // to whom the requests are charged
	as        string // user that reads
	pod       types.UID
	container string
	options   request.LogOptions
}

// log is one of a container, as far as it is known.
type log struct {
	source
	namespace, name string // of the Pod
	controller      string // of the parent that asked first
	parents         map[queue.Key]*holder
	begun           bool // whether it was ever asked for
	wanted          ran  // the run whose log is to be read
	waiting         bool // for a request, or for its answer
	hasRoom         bool // see tenants.takeRoom
	known           bool // whether there is a text
	content
	attempts
}

// content is the text of a log.
type content struct {
	text string
	of   ran // the run that it is of
	// version is another one, and a greater one, for each text.
	version uint64
}

// attempts are the requests for a log.
type attempts struct {
	asked    time.Time   // for the last time
	answered time.Time   // the last time by the server for this log; until then, when it was first asked for
	err      error       // why that has failed; nil if it has not
	failures int         // in a row
	retry    *time.Timer // nil = it is not tried again
}

// holder is a parent that has asked for logs.
type holder struct {
	key     queue.Key
	logs    map[*log]struct{}
	waiting int // how many of these wait
}

// New returns a Fetcher that has read nothing.
func New(o Options) *Fetcher {
	ctx, stop := context.WithCancel(context.Background())
	return &Fetcher{
		o: o, requests: requests{ctx: ctx, stop: stop, places: make(chan struct{}, mostAtOnce)},
		logs: map[source]*log{}, parents: map[queue.Key]*holder{}, tenants: tenants{of: map[string]*tenant{}}, refused: map[audience]refusal{},
	}
}

// Close ends all requests. Nothing is read afterwards.
func (f *Fetcher) Close() {
	f.stop()
	f.mu.Lock()
	f.closed = true
	for key := range f.parents {
		f.forget(key)
	}
	f.mu.Unlock()
	f.done.Wait()
}

// Wait returns when no request is under way or waits for its turn.
func (f *Fetcher) Wait() { f.done.Wait() }

// Forget drops the logs of a parent that was deleted, or no longer reads logs. It is cheap for a parent without logs.
func (f *Fetcher) Forget(key queue.Key) {
	if f.holding.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(key)
}

// ForgetController drops the logs of a controller that was deleted.
func (f *Fetcher) ForgetController(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.parents {
		if key.Controller == name {
			f.forget(key)
		}
	}
}

// forget forgets about a parent; the lock is held.
func (f *Fetcher) forget(key queue.Key) {
	if h := f.parents[key]; h != nil {
		for l := range h.logs {
			f.release(h, l)
		}
	}
}

// release ends that a parent holds a log, and drops the log if no other parent holds it; the lock is held.
func (f *Fetcher) release(h *holder, l *log) {
	delete(h.logs, l)
	delete(l.parents, h.key)
	if l.waiting {
		h.waiting--
	}
	if l.err != nil {
		f.o.Changed(h.key.Controller)
	}
	if len(h.logs) == 0 {
		delete(f.parents, h.key)
		f.holding.Add(-1)
	}
	if len(l.parents) > 0 {
		return
	}
	l.stopRetry()
	delete(f.logs, l.source)
	f.tenants.giveUpRoom(l)
	f.tenants.tidy(l.tenant)
}

func (l *log) stopRetry() {
	if l.retry != nil {
		l.retry.Stop()
		l.retry = nil
	}
}
