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

// tenant returns that of a name; the lock is held.
func (f *Fetcher) tenant(name string) *tenant {
	t := f.tenants[name]
	if t == nil {
		t = &tenant{rate: flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestBurst)}
		f.tenants[name] = t
	}
	return t
}

// tidy drops a tenant without logs to read or to keep; the lock is held.
func (f *Fetcher) tidy(name string) {
	if t := f.tenants[name]; t != nil && t.readers == 0 && t.held == 0 {
		delete(f.tenants, name)
	}
}

// errFull says that there is no room for a log.
var errFull = errors.New("the memory limit for logs is reached")

// takeRoom has a log count in what is held, if there is room for it; the lock is held.
func (f *Fetcher) takeRoom(l *log) bool {
	t, size := f.tenant(l.tenant), l.size()
	switch {
	case l.hasRoom:
	case f.held+size > MostHeld || t.held+size > MostHeldOfTenant:
		f.tidy(l.tenant)
		return false
	default:
		f.held += size
		t.held += size
		l.hasRoom = true
	}
	return true
}

// giveUpRoom undoes takeRoom; the lock is held.
func (f *Fetcher) giveUpRoom(l *log) {
	if l.hasRoom {
		f.held -= l.size()
		f.tenants[l.tenant].held -= l.size()
		l.hasRoom = false
	}
}

func (l *log) size() int { return perLog + int(l.options.LimitBytes) }
