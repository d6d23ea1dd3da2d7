package watch

import (
	"context"
	"sync"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/request"
)

const (
	// linesPerSecond and linesBurst limit the log lines about failures of the watches of one tenant, whose TemplateControllers say the same in
	// their conditions: the log is everybody's.
	linesPerSecond, linesBurst = 1, 20
	// allLinesPerSecond and allLinesBurst limit those of all tenants together.
	allLinesPerSecond, allLinesBurst = 10, 200
	// mostLogged is how many tenants such lines are counted of, whether they have watches now or had some before.
	mostLogged = 1024
)

// lines limits log lines. It is safe for concurrent use.
type lines struct {
	limit flowcontrol.PassiveRateLimiter
	all   flowcontrol.PassiveRateLimiter // of all tenants

	mu      sync.Mutex
	leftOut int // since the last line
}

// linesOf returns the lines of a tenant. The lock is held.
func (m *Manager) linesOf(tenant string) *lines {
	if known, ok := m.lines.Get(tenant); ok {
		return known.(*lines) //nolint:forcetypeassert // nothing else is added
	}
	l := &lines{limit: flowcontrol.NewTokenBucketPassiveRateLimiter(linesPerSecond, linesBurst), all: m.allLines}
	m.lines.Add(tenant, l)
	return l
}

// next reports whether there may be another line, and how many were left out before it.
func (l *lines) next() (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limit.TryAccept() || !l.all.TryAccept() {
		l.leftOut++
		return 0, false
	}
	leftOut, l.leftOut = l.leftOut, 0
	return leftOut, true
}

// failures logs the failures of one watch. It is safe for concurrent use.
type failures struct {
	lines *lines

	mu     sync.Mutex
	failed bool
	code   int32 // of the last failure, 0 = the server did not answer
}

// log logs a failure, unless the one before it was the same and no watch has been accepted since.
func (f *failures) log(ctx context.Context, want Want, err error) {
	f.mu.Lock()
	code := request.Code(err)
	known := f.failed && f.code == code
	f.failed, f.code = true, code
	f.mu.Unlock()
	if known {
		return
	}
	leftOut, ok := 0, true
	if want.tenant() != ownTenant {
		leftOut, ok = f.lines.next()
	}
	if ok {
		klog.FromContext(ctx).Error(request.WithoutText(err), "cannot list or watch, will retry", "watch", want.String(), "similarLinesLeftOut", leftOut)
	}
}

// over takes note that the server has accepted a watch.
func (f *failures) over() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = false
}
