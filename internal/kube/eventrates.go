package kube

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// eventRates bounds how many Events there are. It is safe for concurrent use.
type eventRates struct {
	mu       sync.Mutex
	objects  rate // by writer and object, so that nobody uses up what others may say about it
	accounts rate // by writer and namespace
}

func newEventRates() eventRates {
	return eventRates{
		objects:  rate{burst: objectEvents, every: objectEventEvery, due: lru.New(rememberedRates)},
		accounts: rate{burst: accountEvents, every: accountEventEvery, due: lru.New(rememberedRates)},
	}
}

// allow reports whether there may be one more Event, about the object with that UID, and counts it.
func (r *eventRates) allow(e *event, about types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.allow([2]string{e.As, string(about)}, e.time) && r.accounts.allow([2]string{e.As, e.at.Namespace}, e.time)
}

// rate allows so many at once, and one more each time that so long has passed.
type rate struct {
	burst int
	every time.Duration
	due   *lru.Cache // by key, when all that were allowed would have been at an even pace
}

func (r *rate) allow(key any, now time.Time) bool {
	due := now
	if known, ok := r.due.Get(key); ok && known.(time.Time).After(now) { //nolint:forcetypeassert // there is nothing else in it
		due = known.(time.Time) //nolint:forcetypeassert // the same
	}
	if due.Sub(now) > time.Duration(r.burst-1)*r.every {
		return false
	}
	r.due.Add(key, due.Add(r.every))
	return true
}
