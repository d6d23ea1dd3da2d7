package quota

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/templater-dev/templater/api/v1"
)

// mostWatches is how many watches the TemplateControllers of one tenant may have together: those of seven kinds in as many namespaces
// as spec.watch.namespaces may name.
const mostWatches = 1024

// Watches divides the watches of each tenant among its TemplateControllers, the oldest first, so that it does not matter which of
// them a restarted operator reads first. It is safe for concurrent use.
type Watches struct {
	Most    int               // of each tenant
	changed func(name string) // is called for a TemplateController whose share has become another one

	mu     sync.Mutex
	claims map[string]*Claim // by TemplateController
}

// Claim is how many watches a TemplateController needs.
type Claim struct {
	Name, Tenant string
	Created      time.Time
	Needs        []int  // first those that it cannot do without, then further ones by kind
	granted      []bool // which of these it may have; none without the first
}

// NewWatches returns the Watches of tenants that have none yet.
func NewWatches(changed func(name string)) *Watches {
	return &Watches{Most: mostWatches, changed: changed, claims: map[string]*Claim{}}
}

// Claim returns which of its needs a TemplateController is granted.
func (s *Watches) Claim(c Claim) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.claims[c.Name]
	if before != nil && before.Tenant == c.Tenant && before.Created.Equal(c.Created) && slices.Equal(before.Needs, c.Needs) {
		return before.granted
	}
	c.granted = make([]bool, len(c.Needs))
	s.claims[c.Name] = &c
	s.divide(c.Tenant, c.Name)
	if before != nil && before.Tenant != c.Tenant {
		s.divide(before.Tenant, c.Name)
	}
	return c.granted
}

// ForgetController gives the watches of a TemplateController to others.
func (s *Watches) ForgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.claims[name]; c != nil {
		delete(s.claims, name)
		s.divide(c.Tenant, name)
	}
}

// divide divides the watches of a tenant because of the claim of one TemplateController, which is not queued for it; the lock is held.
func (s *Watches) divide(tenant, because string) {
	claims := slices.SortedFunc(maps.Values(s.claims), func(a, b *Claim) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	left := s.Most
	for _, c := range claims {
		if c.Tenant != tenant {
			continue
		}
		granted := c.grant(&left)
		if c.Name != because && !slices.Equal(granted, c.granted) {
			s.changed(c.Name)
		}
		copy(c.granted, granted)
	}
}

// grant takes what fits from those that are left.
func (c *Claim) grant(left *int) []bool {
	granted := make([]bool, len(c.Needs))
	for i, n := range c.Needs {
		if granted[i] = n <= *left && (i == 0 || granted[0]); granted[i] {
			*left -= n
		}
	}
	return granted
}

// WasRefused reports whether the status says that there was no room for the watches of a TemplateController.
func WasRefused(tc *v1.TemplateController) bool {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	return accepted != nil && accepted.Reason == v1.ReasonTooManyWatches
}
