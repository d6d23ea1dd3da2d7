package watch

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
)

// refusedPerSecond and refusedBurst limit the requests of all watches of one account together that the server has refused before.
const refusedPerSecond, refusedBurst = 20, 40

// pace is how fast the refused watches of one account are tried again, so that many of them do not keep the server from others. It is
// safe for concurrent use.
type pace struct {
	retries flowcontrol.PassiveRateLimiter
	watches int // that are of the account; the lock of the Manager is held
}

// held returns why the last request of a watch was refused, where it is not yet to ask again: the watch backs off, as after another
// refusal. It is nil where the watch may ask.
func (p *pace) held(cache *Cache) error {
	err := cache.Err()
	if !apierrors.IsForbidden(err) || p.retries.TryAccept() {
		return nil
	}
	cache.liveness.answered(err) // it is not stuck
	return err
}

// join returns the pace of an account for one more watch; the lock is held.
func (m *Manager) join(as string) *pace {
	p := m.paces[as]
	if p == nil {
		p = &pace{retries: flowcontrol.NewTokenBucketPassiveRateLimiter(refusedPerSecond, refusedBurst)}
		m.paces[as] = p
	}
	p.watches++
	return p
}

// leave undoes join; the lock is held.
func (m *Manager) leave(as string) {
	if p := m.paces[as]; p.watches > 1 {
		p.watches--
		return
	}
	delete(m.paces, as)
}
