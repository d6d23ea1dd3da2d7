package podlogs

import (
	"errors"

	"k8s.io/client-go/util/flowcontrol"
)

// account is who reads logs. Each has requests and room of its own, so that none keeps others from theirs.
type account struct {
	queue   []*log // those that wait for a request
	readers int    // goroutines that work through the queue
	held    int    // bytes, see MostHeldOfAccount
	rate    flowcontrol.RateLimiter
}

// account returns that of a user; the lock is held.
func (f *Fetcher) account(as string) *account {
	a := f.accounts[as]
	if a == nil {
		a = &account{rate: flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestBurst)}
		f.accounts[as] = a
	}
	return a
}

// tidy forgets an account for which there is nothing to read or to keep; the lock is held.
func (f *Fetcher) tidy(as string) {
	if a := f.accounts[as]; a != nil && a.readers == 0 && a.held == 0 {
		delete(f.accounts, as)
	}
}

// errFull says that there is no room for a log.
var errFull = errors.New("there is no room for another log")

// takeRoom has a log count in what is held, if there is room for it; the lock is held.
func (f *Fetcher) takeRoom(l *log) bool {
	a, size := f.account(l.as), l.size()
	switch {
	case l.hasRoom:
	case f.held+size > MostHeld || a.held+size > MostHeldOfAccount:
		f.tidy(l.as)
		return false
	default:
		f.held += size
		a.held += size
		l.hasRoom = true
	}
	return true
}

// giveUpRoom undoes takeRoom; the lock is held.
func (f *Fetcher) giveUpRoom(l *log) {
	if l.hasRoom {
		f.held -= l.size()
		f.accounts[l.as].held -= l.size()
		l.hasRoom = false
	}
}

func (l *log) size() int { return perLog + int(l.options.LimitBytes) }
