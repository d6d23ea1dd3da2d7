package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// creditLimit is the maximum debt of a tenant (cost of its requests, less repayments) before its credit is exhausted.
const creditLimit = 30 * time.Second

// recentWindow is how long after a request a tenant with credit counts as active, so that tenants without credit are
// limited.
const recentWindow = 10 * time.Second

// Credit tracks how much API server time each tenant uses. A rollout, which always has a few requests in progress, is
// free. More concurrent requests use credit. A tenant without credit gets fewer concurrent requests than a rollout
// until it has repaid its debt, because many concurrent requests slow down those of tenants with credit. While no
// tenant with credit makes requests, no tenant is limited. It is safe for concurrent use.
type Credit struct {
	clock   clock.PassiveClock
	tenants *Tenants
	rollout int // concurrent requests of a rollout

	mu     sync.Mutex
	debts  map[string]*debt // by tenant; entries that dropped to 0 are removed when the next one is added
	recent [2]recentTenant  // the last two tenants that had credit when they made a request, latest first
}

// recentTenant is a tenant that made a request.
type recentTenant struct {
	tenant string
	at     time.Time // time of its last request
}

// debt is the debt of a tenant.
type debt struct {
	owed time.Duration
	at   time.Time // time at which owed was computed
	over bool      // the credit is exhausted
}

// NewCredit returns a Credit for rollouts with the given number of concurrent requests (minimum 1).
func NewCredit(clock clock.PassiveClock, rollout int, tenants *Tenants) *Credit {
	return &Credit{clock: clock, tenants: tenants, rollout: max(rollout, 1), debts: map[string]*debt{}}
}

// few is the maximum number of concurrent reconciliations of a tenant without credit.
func (c *Credit) few() int { return (c.rollout + 1) / 2 }

// Charge charges the cost of a request to the tenant of a controller.
func (c *Credit) Charge(controller string, cost time.Duration) {
	tenant := c.tenants.Name(controller)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	d := c.debts[tenant]
	if d == nil {
		c.forget(now)
		d = &debt{at: now}
		c.debts[tenant] = d
	}
	d.pay(now, c.rollout)
	d.owed = min(d.owed+cost, 2*creditLimit)
	d.over = d.over || d.owed > creditLimit
	if !d.over {
		c.noteRequest(tenant, now)
	}
}

// noteRequest records a request of a tenant with credit. The caller holds the lock.
func (c *Credit) noteRequest(tenant string, now time.Time) {
	if c.recent[0].tenant != tenant {
		c.recent[1] = c.recent[0]
	}
	c.recent[0] = recentTenant{tenant, now}
}

// hasRecent reports whether another tenant made a request recently, and had credit then. The caller holds the lock.
func (c *Credit) hasRecent(tenant string, now time.Time) bool {
	last := c.recent[0]
	if last.tenant == tenant {
		last = c.recent[1]
	}
	return !last.at.IsZero() && now.Sub(last.at) < recentWindow
}

// Over reports whether the tenant of a controller has exhausted its credit, so that its concurrency is reduced. It is
// false while no other tenant with credit makes requests.
func (c *Credit) Over(controller string) bool {
	tenant := c.tenants.Name(controller)
	return c.over(tenant)
}

func (c *Credit) over(tenant string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.debts[tenant]
	if d == nil {
		return false
	}
	now := c.clock.Now()
	d.pay(now, c.rollout)
	return d.over && c.hasRecent(tenant, now)
}

// forget drops tenants without debt. The caller holds the lock.
func (c *Credit) forget(now time.Time) {
	for tenant, d := range c.debts {
		if d.pay(now, c.rollout); d.owed == 0 {
			delete(c.debts, tenant)
		}
	}
}

// pay deducts from the debt what was repaid since d.at: as much as a rollout costs in that time.
func (d *debt) pay(now time.Time, rollout int) {
	d.owed = max(0, d.owed-time.Duration(rollout)*now.Sub(d.at))
	d.at = now
	d.over = d.over && d.owed > 0
}
