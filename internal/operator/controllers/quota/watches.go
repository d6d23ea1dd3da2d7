package quota

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/templater-dev/templater/api/v1"
)

// maxWatches is the maximum number of watches of a tenant: enough for seven kinds in the maximum number of namespaces
// in spec.watch.namespaces.
const maxWatches = 1024

// Watches divides the watches of each tenant among its TemplateControllers, oldest first, so that the result does not
// depend on the order in which a restarted operator reads them. It is safe for concurrent use.
type Watches struct {
	Most    int               // per tenant
	changed func(name string) // called for a TemplateController whose grants have changed

	mu      sync.Mutex
	claims  map[string]*WatchDemand   // by TemplateController
	tenants map[string][]*WatchDemand // the same by tenant, oldest first
}

// WatchDemand is the number of watches that a TemplateController needs.
type WatchDemand struct {
	Name, Tenant string
	Created      time.Time
	Needs        []int  // first the required watches, then optional ones by kind
	granted      []bool // per element of Needs; all false if the first one is
}

// NewWatches returns empty Watches.
func NewWatches(changed func(name string)) *Watches {
	return &Watches{Most: maxWatches, changed: changed, claims: map[string]*WatchDemand{}, tenants: map[string][]*WatchDemand{}}
}

// Claim returns which needs of a TemplateController are granted.
func (s *Watches) Claim(c WatchDemand) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.claims[c.Name]
	if before != nil && before.Tenant == c.Tenant && before.Created.Equal(c.Created) && slices.Equal(before.Needs, c.Needs) {
		return before.granted
	}
	c.granted = make([]bool, len(c.Needs))
	s.remove(before)
	s.claims[c.Name] = &c
	at, _ := slices.BinarySearchFunc(s.tenants[c.Tenant], &c, older)
	s.tenants[c.Tenant] = slices.Insert(s.tenants[c.Tenant], at, &c)
	s.divide(c.Tenant, c.Name)
	if before != nil && before.Tenant != c.Tenant {
		s.divide(before.Tenant, c.Name)
	}
	return c.granted
}

// ForgetController frees the watches of a TemplateController for others.
func (s *Watches) ForgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claims[name]; c != nil {
		delete(s.claims, name)
		s.remove(c)
		s.divide(c.Tenant, name)
	}
}

// older orders the claims of a tenant.
func older(a, b *WatchDemand) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// remove removes a claim from those of its tenant; nil is ignored. The caller holds the lock.
func (s *Watches) remove(c *WatchDemand) {
	if c == nil {
		return
	}
	at, _ := slices.BinarySearchFunc(s.tenants[c.Tenant], c, older)
	if s.tenants[c.Tenant] = slices.Delete(s.tenants[c.Tenant], at, at+1); len(s.tenants[c.Tenant]) == 0 {
		delete(s.tenants, c.Tenant)
	}
}

// divide divides the watches of a tenant after a change of one TemplateController, for which changed is not called. The
// caller holds the lock.
func (s *Watches) divide(tenant, because string) {
	left := s.Most
	for _, c := range s.tenants[tenant] {
		granted := c.grant(&left)
		if c.Name != because && !slices.Equal(granted, c.granted) {
			s.changed(c.Name)
		}
		copy(c.granted, granted)
	}
}

// grant grants the needs that fit in left, and subtracts them.
func (c *WatchDemand) grant(left *int) []bool {
	granted := make([]bool, len(c.Needs))
	for i, n := range c.Needs {
		if granted[i] = n <= *left && (i == 0 || granted[0]); granted[i] {
			*left -= n
		}
	}
	return granted
}

// WasRefused reports whether the status of a TemplateController shows that its watches exceeded the limit.
func WasRefused(tc *v1.TemplateController) bool {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	return accepted != nil && accepted.Reason == v1.ReasonTooManyWatches
}
