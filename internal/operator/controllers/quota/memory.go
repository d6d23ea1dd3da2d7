// Package quota bounds what TemplateControllers take: memory for their compiled specs, watches, and space in the cache.
package quota

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

const (
	// share is the part of GOMEMLIMIT that compiled specs may take together, one in so many.
	share = 4
	// tenantShare is the part of that which those of one tenant may take, one in so many.
	tenantShare = 4
	// defaultMemory is taken for GOMEMLIMIT where that is not set.
	defaultMemory = 2 << 30
)

// Memory decides which TemplateControllers are compiled, so that all of them fit in memory. It goes by spec.Size, so that nothing
// is compiled to find out. What was admitted is not refused later for another TemplateController; also not after a restart, for which
// the condition Accepted is the memory. Of the others, the oldest that fit are admitted. It is safe for concurrent use.
type Memory struct {
	Limit    int // of all specs together, in bytes
	tenants  *queue.Tenants
	admitted func(name string) // called for what was refused before

	mu      sync.Mutex
	demands map[string]*Demand // by TemplateController
}

// Demand is what a TemplateController takes of the memory.
type Demand struct {
	name, tenant string
	uid          types.UID
	generation   int64
	created      time.Time
	accepted     bool // this generation, according to its status
	bytes        int
	admitted     bool
}

// NewMemory returns the memory of a process with that limit, which is math.MaxInt64 where there is none.
func NewMemory(limit int64, tenants *queue.Tenants, admitted func(name string)) *Memory {
	return &Memory{Limit: int(MemoryOf(limit) / share), tenants: tenants, admitted: admitted, demands: map[string]*Demand{}}
}

// MemoryOf returns the memory of a process with that limit.
func MemoryOf(limit int64) int64 {
	if limit == math.MaxInt64 {
		return defaultMemory
	}
	return limit
}

// DemandOf returns what a TemplateController takes whose spec.Size is that.
func (m *Memory) DemandOf(tc *v1.TemplateController, size int) *Demand {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	return &Demand{
		name: tc.Name, tenant: m.tenants.Name(tc.Name), uid: tc.UID, generation: tc.Generation, created: tc.CreationTimestamp.Time, bytes: size,
		accepted: accepted != nil && accepted.Status == metav1.ConditionTrue && accepted.ObservedGeneration == tc.Generation,
	}
}

// Begin decides about all TemplateControllers that there are: those that were accepted before come first.
func (m *Memory) Begin(all []*Demand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.demands)
	for _, d := range all {
		m.demands[d.name] = d
	}
	m.admit(func(d *Demand) bool { return d.accepted })
	m.admit(func(*Demand) bool { return true })
}

// Admit returns why a TemplateController may not be compiled, or nil. size returns its spec.Size, and is called once for each generation.
func (m *Memory) Admit(tc *v1.TemplateController, size func() int) *spec.Rejection {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.demands[tc.Name]
	if d == nil || d.uid != tc.UID || d.generation != tc.Generation {
		d = m.DemandOf(tc, size())
		m.demands[tc.Name] = d
		m.admit(func(each *Demand) bool { return each == d })
		m.admitWaiting()
	}
	if d.admitted {
		return nil
	}
	return m.refusal(d)
}

// Refuse returns why a TemplateController that is about to be written would not be compiled, or nil. It decides nothing else.
func (m *Memory) Refuse(tc *v1.TemplateController) *spec.Rejection {
	d := &Demand{name: tc.Name, tenant: queue.TenantOf(tc.Name, tc.Spec.ServiceAccountRef), bytes: spec.Size(&tc.Spec)}
	m.mu.Lock()
	defer m.mu.Unlock()
	all, of := m.used()
	if now := m.demands[tc.Name]; now != nil && now.admitted {
		all -= now.bytes
		of[now.tenant] -= now.bytes
	}
	if m.fits(d, all, of) {
		return nil
	}
	return m.refusal(d)
}

// fits reports whether there is memory for a TemplateController beside those that take all, and of for each tenant.
func (m *Memory) fits(d *Demand, all int, of map[string]int) bool {
	return all+d.bytes <= m.Limit && of[d.tenant]+d.bytes <= m.Limit/tenantShare
}

// ForgetController gives the memory of a deleted TemplateController to those that wait for some.
func (m *Memory) ForgetController(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.demands, name)
	m.admitWaiting()
}

// admitWaiting admits what was refused before and fits now; the lock is held.
func (m *Memory) admitWaiting() {
	for _, d := range m.admit(func(*Demand) bool { return true }) {
		m.admitted(d.name)
	}
}

// admit admits those that fit, the oldest first, of those that f holds for; the lock is held.
func (m *Memory) admit(f func(*Demand) bool) (admitted []*Demand) {
	all, of := m.used()
	var waiting []*Demand
	for _, d := range m.demands {
		if !d.admitted && f(d) {
			waiting = append(waiting, d)
		}
	}
	slices.SortFunc(waiting, func(a, b *Demand) int { return cmp.Or(a.created.Compare(b.created), strings.Compare(a.name, b.name)) })
	for _, d := range waiting {
		if !m.fits(d, all, of) {
			continue
		}
		d.admitted = true
		all += d.bytes
		of[d.tenant] += d.bytes
		admitted = append(admitted, d)
	}
	return admitted
}

// used returns what those that are admitted take: all together, and by tenant. The lock is held.
func (m *Memory) used() (all int, of map[string]int) {
	of = map[string]int{}
	for _, d := range m.demands {
		if d.admitted {
			all += d.bytes
			of[d.tenant] += d.bytes
		}
	}
	return all, of
}

// refusal says why a TemplateController is not admitted; the lock is held.
func (m *Memory) refusal(d *Demand) *spec.Rejection {
	limit, whose := m.Limit, "all TemplateControllers"
	if _, of := m.used(); of[d.tenant]+d.bytes > m.Limit/tenantShare {
		limit, whose = m.Limit/tenantShare, "a TemplateController without a service account"
		if namespace, shared := strings.CutPrefix(d.tenant, queue.NamespaceTenant); shared {
			whose = "TemplateControllers whose service accounts are in namespace " + namespace
		}
	}
	message := fmt.Sprintf("the compiled spec takes about %d KiB of memory, more than is left of the %d KiB for %s: make its templates and values smaller, delete other TemplateControllers, or give templater more memory",
		d.bytes>>10, limit>>10, whose)
	r := spec.Rejectf(v1.ReasonInsufficientMemory, "%s", message)
	r.Findings = []finding.Finding{{Code: finding.TooMuch, Severity: finding.Error, Where: "spec", Message: message}}
	return r
}
