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
	// maxRequests and maxRequestsPerTenant limit the concurrent requests, in total and per tenant.
	maxRequests, maxRequestsPerTenant = 16, 4
	// requestsPerSecond and requestBurst limit the requests per tenant.
	requestsPerSecond, requestBurst = 50, 100
	// MaxHeldBytes limits the memory for logs, in bytes. Each log counts as its limitBytes plus perLog.
	MaxHeldBytes = 64 << 20
	// MaxHeldBytesPerTenant is the same limit for one tenant.
	MaxHeldBytesPerTenant = 16 << 20
	perLog                = 1 << 10
	// firstLogRetry is the delay before a failed request is retried. It doubles with each failure, up to lastLogRetry.
	firstLogRetry, lastLogRetry = 5 * time.Second, 5 * time.Minute
	// gather is how long the first of several logs waits for the others before their parent is enqueued.
	gather = time.Second
)

// Reader reads logs as one user. kube.Client implements it.
type Reader interface {
	Log(ctx context.Context, namespace, pod, container string, o request.LogOptions) (string, error)
}

// Options configure a Fetcher. None of the functions may call the Fetcher.
type Options struct {
	// Reader returns the Reader of a user; "" is the operator itself.
	Reader func(as string) Reader
	// Tenant returns the tenant of a TemplateController. Those with the same service account belong to the same tenant.
	Tenant func(controller string) string
	// Runs reports whether a TemplateController executes templates. It is false if it is suspended or not accepted.
	Runs func(controller string) bool
	// Charge is called with the duration of each request and the TemplateController that it was sent for.
	Charge func(controller string, took time.Duration)
	// Wake enqueues a parent after a delay, because logs that it requested have changed.
	Wake func(parent queue.Key, after time.Duration)
	// Changed is called when the errors of the logs of a TemplateController have changed.
	Changed func(controller string)
}

// Fetcher reads logs in the background, and keeps them while reconciliations request them. It is safe for concurrent
// use. It has no goroutines while no log is held.
type Fetcher struct {
	o Options
	requests

	holding atomic.Int64 // number of parents that hold logs

	mu      sync.Mutex
	closed  bool
	logs    map[source]*log
	parents map[queue.Key]*holder
	tenants tenants
	refused map[access]refusal
	news    uint64 // number of changes, see content.version
}

// requests are the requests of a Fetcher.
type requests struct {
	ctx    context.Context //nolint:containedctx // outlives the reconciliations that request logs
	stop   context.CancelFunc
	done   sync.WaitGroup
	places chan struct{} // semaphore of concurrent requests
}

// source identifies a log.
type source struct {
	tenant    string // requests are charged to this tenant
	as        string // user that reads the log
	pod       types.UID
	container string
	options   request.LogOptions
}

// log is the log of a container.
type log struct {
	source
	namespace, name string // of the Pod
	controller      string // of the parent that requested the log first
	parents         map[queue.Key]*holder
	begun           bool // it was requested, and no retry is due
	wanted          ran  // the run whose log should be read
	waiting         bool // it is queued, or a request is running
	hasRoom         bool // see tenants.takeRoom
	known           bool // text is set
	content
	attempts
}

// content is the text of a log.
type content struct {
	text string
	of   ran // the run that the text belongs to
	// version increases whenever the text changes.
	version uint64
}

// attempts describes the requests for a log.
type attempts struct {
	asked    time.Time   // last time it was queued
	answered time.Time   // last response for this log; until then, when the log was first requested
	err      error       // of the last attempt; nil if it succeeded
	failures int         // consecutive failures
	retry    *time.Timer // nil = no retry is scheduled
}

// holder is a parent that requested logs.
type holder struct {
	key     queue.Key
	logs    map[*log]struct{}
	waiting int // number of logs with waiting set
}

// New returns a Fetcher. It sends no requests until logs are requested.
func New(o Options) *Fetcher {
	ctx, stop := context.WithCancel(context.Background())
	return &Fetcher{
		o: o, requests: requests{ctx: ctx, stop: stop, places: make(chan struct{}, maxRequests)},
		logs: map[source]*log{}, parents: map[queue.Key]*holder{}, tenants: tenants{of: map[string]*tenant{}}, refused: map[access]refusal{},
	}
}

// Close cancels all requests, and waits for them to end. Nothing is read afterwards.
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

// Wait blocks until no request is running or queued.
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

// ForgetController drops the logs of a deleted TemplateController.
func (f *Fetcher) ForgetController(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.parents {
		if key.Controller == name {
			f.forget(key)
		}
	}
}

// forget drops a parent. The caller holds the lock.
func (f *Fetcher) forget(key queue.Key) {
	if h := f.parents[key]; h != nil {
		for l := range h.logs {
			f.release(h, l)
		}
	}
}

// release removes a log from a holder, and drops the log if no other parent holds it. The caller holds the lock.
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
