package podlogs

import (
	"errors"

	"k8s.io/client-go/util/flowcontrol"
)

// tenant is a tenant of queue.Tenants for which logs are read. Each has its own limits of requests and memory, however many accounts it
// reads as, so that none blocks another.
type tenant struct {
	queue   []*log // those that wait for a request
	readers int    // goroutines that work through the queue
	held    int    // bytes, see MostHeldOfTenant
	rate    flowcontrol.RateLimiter
}

// tenants are those for which logs are read or kept. They are guarded by their Fetcher.
type tenants struct {
	of   map[string]*tenant
	held int // bytes, see MostHeld
}

// get returns the tenant of a name.
func (ts *tenants) get(name string) *tenant {
	t := ts.of[name]
	if t == nil {
		t = &tenant{rate: flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestBurst)}
		ts.of[name] = t
	}
	return t
}

// tidy drops a tenant without logs to read or to keep.
func (ts *tenants) tidy(name string) {
	if t := ts.of[name]; t != nil && t.readers == 0 && t.held == 0 {
		delete(ts.of, name)
	}
}

// errFull says that there is no room for a log.
var errFull = errors.New("the memory limit for logs is reached")

// takeRoom has a log count in what is held, if there is room for it.
func (ts *tenants) takeRoom(l *log) bool {
	t, size := ts.get(l.tenant), l.size()
	switch {
	case l.hasRoom:
	case ts.held+size > MostHeld || t.held+size > MostHeldOfTenant:
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
