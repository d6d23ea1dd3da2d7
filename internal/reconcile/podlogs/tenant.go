package podlogs

import (
	"errors"

	"k8s.io/client-go/util/flowcontrol"
)

// tenant is a tenant (see queue.Tenants) for which logs are read. Each has its own limits of requests and memory,
// regardless of the number of its service accounts, so that tenants do not block each other.
type tenant struct {
	queue   []*log // logs to request
	readers int    // goroutines that process the queue
	held    int    // bytes, see MaxHeldBytesPerTenant
	rate    flowcontrol.RateLimiter
}

// tenants are the tenants for which logs are read or kept. They are guarded by the lock of the Fetcher.
type tenants struct {
	of   map[string]*tenant
	held int // bytes, see MaxHeldBytes
}

// get returns the tenant with that name, and creates it if needed.
func (ts *tenants) get(name string) *tenant {
	t := ts.of[name]
	if t == nil {
		t = &tenant{rate: flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestBurst)}
		ts.of[name] = t
	}
	return t
}

// tidy drops a tenant that neither reads nor keeps logs.
func (ts *tenants) tidy(name string) {
	if t := ts.of[name]; t != nil && t.readers == 0 && t.held == 0 {
		delete(ts.of, name)
	}
}

// errFull is the error of a log that exceeds the memory limit.
var errFull = errors.New("the memory limit for logs is reached")

// takeRoom adds a log to the memory in use. It returns false if that would exceed the limit.
func (ts *tenants) takeRoom(l *log) bool {
	t, size := ts.get(l.tenant), l.size()
	switch {
	case l.hasRoom:
	case ts.held+size > MaxHeldBytes || t.held+size > MaxHeldBytesPerTenant:
		ts.tidy(l.tenant)
		return false
	default:
		ts.held += size
		t.held += size
		l.hasRoom = true
	}
	return true
}

// giveUpRoom undoes takeRoom.
func (ts *tenants) giveUpRoom(l *log) {
	if l.hasRoom {
		ts.held -= l.size()
		ts.of[l.tenant].held -= l.size()
		l.hasRoom = false
	}
}

func (l *log) size() int { return perLog + int(l.options.LimitBytes) }
