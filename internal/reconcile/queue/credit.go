package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Tenants maps TemplateControllers to tenants. Those whose service accounts are in one namespace are one tenant, because
// the owner of a namespace can create any number of service accounts. One without a service account is a tenant of its own.
// It is safe for concurrent use.
type Tenants struct {
	mu sync.RWMutex
	of map[string]string // by controller
}

// NamespaceTenant begins the name of a tenant that is a namespace of accounts. No controller has such a name.
const NamespaceTenant = "namespace/"

// NewTenants returns Tenants without TemplateControllers.
func NewTenants() *Tenants { return &Tenants{of: map[string]string{}} }

// Set sets the service account of a controller, nil for none.
func (t *Tenants) Set(controller string, account *v1.ServiceAccountRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[controller] = TenantOf(controller, account)
}

// TenantOf returns the tenant of a controller with this service account, nil for none.
func TenantOf(controller string, account *v1.ServiceAccountRef) string {
	if account == nil {
		return controller
	}
	return NamespaceTenant + account.Namespace
}

// Of returns whose a controller is, and whether that is known.
func (t *Tenants) Of(controller string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if tenant, ok := t.of[controller]; ok {
		return tenant, true
	}
	return controller, false
}

// Name returns whose a controller is, as far as that is known.
func (t *Tenants) Name(controller string) string {
	tenant, _ := t.Of(controller)
	return tenant
}

// ForgetController drops a controller that was deleted.
func (t *Tenants) ForgetController(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, name)
}

// creditLimit is how much requests for a tenant may cost in all, beyond what is paid back meanwhile, before it is over its credit.
const creditLimit = 30 * time.Second

// neighbourTime is for how long after a request a tenant that has credit is one that others are to leave room for.
const neighbourTime = 10 * time.Second

// Credit accounts for the time that the API server works for each tenant. A rollout, which always has a few requests in
// progress, is covered. A tenant with more requests at a time uses credit. A tenant without credit gets fewer
// requests than a rollout until it has paid back, because many requests at a time slow down those of tenants that have
// credit. As long as no such tenant makes requests, no tenant waits. It is safe for concurrent use.
type Credit struct {
	clock   clock.PassiveClock
	tenants *Tenants
	rollout int // requests

	mu         sync.Mutex
	debts      map[string]*debt // by tenant; none is 0 for long
	neighbours [2]neighbour     // the last two tenants that had credit when they made a request, the last one first
}

// neighbour is a tenant that has made a request.
type neighbour struct {
	tenant string
	at     time.Time // of its last request
}

// debt is what a tenant has to pay back.
type debt struct {
	owed time.Duration
	at   time.Time // when it was that much
	over bool      // the credit is used up
}

// NewCredit returns the Credit for rollouts with that many requests in progress; less than 1 counts as 1.
func NewCredit(clock clock.PassiveClock, rollout int, tenants *Tenants) *Credit {
	return &Credit{clock: clock, tenants: tenants, rollout: max(rollout, 1), debts: map[string]*debt{}}
}

// few is how many reconciliations a tenant without credit may have in progress.
func (c *Credit) few() int { return (c.rollout + 1) / 2 }

// Charge adds what a request for a controller has cost.
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
		c.meet(tenant, now)
	}
}

// meet takes note of a request of a tenant that has credit; the lock is held.
func (c *Credit) meet(tenant string, now time.Time) {
	if c.neighbours[0].tenant != tenant {
		c.neighbours[1] = c.neighbours[0]
	}
	c.neighbours[0] = neighbour{tenant, now}
}

// hasNeighbour reports whether another tenant has made a request lately, and had credit then; the lock is held.
func (c *Credit) hasNeighbour(tenant string, now time.Time) bool {
	last := c.neighbours[0]
	if last.tenant == tenant {
		last = c.neighbours[1]
	}
	return !last.at.IsZero() && now.Sub(last.at) < neighbourTime
}

// Over reports whether the tenant of a controller has used up its credit, so that it may have few reconciliations in progress: others
// need the API server.
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
	return d.over && c.hasNeighbour(tenant, now)
}

// forget drops tenants that owe nothing; the lock is held.
func (c *Credit) forget(now time.Time) {
	for tenant, d := range c.debts {
		if d.pay(now, c.rollout); d.owed == 0 {
			delete(c.debts, tenant)
		}
	}
}

// pay takes off the debt what has been paid since, which is what a rollout costs.
func (d *debt) pay(now time.Time, rollout int) {
	d.owed = max(0, d.owed-time.Duration(rollout)*now.Sub(d.at))
	d.at = now
	d.over = d.over && d.owed > 0
}
