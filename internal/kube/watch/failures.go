package watch

import (
	"context"
	"sync"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/request"
)

const (
	// linesPerSecond and linesBurst limit the log lines about failed watches of one tenant. All tenants share the log, and the
	// TemplateControllers show the same errors in their conditions.
	linesPerSecond, linesBurst = 1, 20
	// allLinesPerSecond and allLinesBurst are the limits for all tenants together.
	allLinesPerSecond, allLinesBurst = 10, 200
	// maxLoggedTenants is the number of tenants whose log lines are counted, including tenants without running watches.
	maxLoggedTenants = 1024
)

// lines is the log rate limit of a tenant. It is safe for concurrent use.
type lines struct {
	limit flowcontrol.PassiveRateLimiter
	all   flowcontrol.PassiveRateLimiter // shared by all tenants

	mu         sync.Mutex
	suppressed int // since the last logged line
}

// linesOf returns the log rate limit of a tenant. The lock must be held.
func (m *Manager) linesOf(tenant string) *lines {
	if known, ok := m.lines.Get(tenant); ok {
		return known.(*lines) //nolint:forcetypeassert // the cache contains only this type
	}
	l := &lines{limit: flowcontrol.NewTokenBucketPassiveRateLimiter(linesPerSecond, linesBurst), all: m.allLines}
	m.lines.Add(tenant, l)
	return l
}

// next reports whether another line is allowed, and how many lines were suppressed before it.
func (l *lines) next() (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limit.TryAccept() || !l.all.TryAccept() {
		l.suppressed++
		return 0, false
	}
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

// failures logs the failures of one watch. It is safe for concurrent use.
type failures struct {
	lines *lines

	mu     sync.Mutex
	failed bool
	code   int32 // of the last failure, 0 = no response
}

// log logs a failure, unless the previous failure had the same code and no watch was accepted since.
func (f *failures) log(ctx context.Context, want Want, err error) {
	f.mu.Lock()
	code := request.Code(err)
	known := f.failed && f.code == code
	f.failed, f.code = true, code
	f.mu.Unlock()
	if known {
		return
	}
	suppressed, ok := 0, true
	if want.tenant() != ownTenant {
		suppressed, ok = f.lines.next()
	}
	if ok {
		klog.FromContext(ctx).Error(request.WithoutText(err), "cannot list or watch, will retry", "watch", want.String(), "suppressed", suppressed)
	}
}

// over records that the server has accepted a watch.
func (f *failures) over() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = false
}
