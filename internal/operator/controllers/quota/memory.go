// Package quota limits the memory, watches and cache space that TemplateControllers use.
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
	// share: all compiled specs together may use 1/share of GOMEMLIMIT.
	share = 4
	// tenantShare: the compiled specs of one tenant may use 1/tenantShare of that.
	tenantShare = 4
	// defaultMemory is used if GOMEMLIMIT is not set, in bytes.
	defaultMemory = 2 << 30
)

// Memory decides which TemplateControllers are compiled, so that all of them fit in memory. It uses spec.Size, so that
// nothing needs to be compiled to find out. An admitted TemplateController is never rejected later in favor of another
// one, not even after a restart, because the Accepted condition records it. Of the others, the oldest ones that fit are
// admitted. It is safe for concurrent use.
type Memory struct {
	Limit    int // of all specs together, in bytes
	tenants  *queue.Tenants
	admitted func(name string) // called for a TemplateController that was rejected before

	mu      sync.Mutex
	demands map[string]*Demand // by TemplateController
}

// Demand is the memory that a TemplateController needs.
type Demand struct {
	name, tenant string
	uid          types.UID
	generation   int64
	created      time.Time
	accepted     bool // this generation, according to its status
	bytes        int
	admitted     bool
}

// NewMemory returns the Memory for a process with that memory limit in bytes; math.MaxInt64 means no limit.
func NewMemory(limit int64, tenants *queue.Tenants, admitted func(name string)) *Memory {
	return &Memory{Limit: int(MemoryOf(limit) / share), tenants: tenants, admitted: admitted, demands: map[string]*Demand{}}
}

// MemoryOf returns the memory of a process with that limit, in bytes.
func MemoryOf(limit int64) int64 {
	if limit == math.MaxInt64 {
		return defaultMemory
	}
	return limit
}

// DemandOf returns the demand of a TemplateController with that spec.Size.
func (m *Memory) DemandOf(tc *v1.TemplateController, size int) *Demand {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	return &Demand{
		name: tc.Key(), tenant: m.tenants.Name(tc.Key()), uid: tc.UID, generation: tc.Generation, created: tc.CreationTimestamp.Time, bytes: size,
		accepted: accepted != nil && accepted.Status == metav1.ConditionTrue && accepted.ObservedGeneration == tc.Generation,
	}
}

// Begin decides about all existing TemplateControllers: those that were accepted before have precedence.
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

// Admit returns why a TemplateController may not be compiled, or nil. size returns its spec.Size, and is called once
// per generation.
func (m *Memory) Admit(tc *v1.TemplateController, size func() int) *spec.Rejection {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.demands[tc.Key()]
	if d == nil || d.uid != tc.UID || d.generation != tc.Generation {
		d = m.DemandOf(tc, size())
		m.demands[tc.Key()] = d
		m.admit(func(each *Demand) bool { return each == d })
		m.admitWaiting()
	}
	if d.admitted {
		return nil
	}
	return m.refusal(d)
}

// Refuse returns why a TemplateController under review would not be compiled, or nil. It does not change any decision.
func (m *Memory) Refuse(tc *v1.TemplateController) *spec.Rejection {
	d := &Demand{name: tc.Key(), tenant: queue.TenantOf(tc.Key(), tc.Spec.ServiceAccountRef), bytes: spec.Size(&tc.Spec)}
	m.mu.Lock()
	defer m.mu.Unlock()
	all, of := m.used()
	if now := m.demands[tc.Key()]; now != nil && now.admitted {
		all -= now.bytes
		of[now.tenant] -= now.bytes
	}
	if m.fits(d, all, of) {
		return nil
	}
	return m.refusal(d)
}

// fits reports whether there is memory for a TemplateController, given the memory in use in total and by tenant.
func (m *Memory) fits(d *Demand, all int, of map[string]int) bool {
	return all+d.bytes <= m.Limit && of[d.tenant]+d.bytes <= m.Limit/tenantShare
}

// ForgetController frees the memory of a deleted TemplateController for those that wait.
func (m *Memory) ForgetController(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.demands, name)
	m.admitWaiting()
}

// admitWaiting admits TemplateControllers that were rejected before and fit now. The caller holds the lock.
func (m *Memory) admitWaiting() {
	for _, d := range m.admit(func(*Demand) bool { return true }) {
		m.admitted(d.name)
	}
}

// admit admits the demands for which f returns true and that fit, oldest first. The caller holds the lock.
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

// used returns the memory of the admitted TemplateControllers, in total and by tenant. The caller holds the lock.
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

// refusal describes why a TemplateController is not admitted. The caller holds the lock.
func (m *Memory) refusal(d *Demand) *spec.Rejection {
	limit, whose := m.Limit, "all TemplateControllers"
	if _, of := m.used(); of[d.tenant]+d.bytes > m.Limit/tenantShare {
		limit, whose = m.Limit/tenantShare, "a TemplateController without a service account"
		if namespace, shared := strings.CutPrefix(d.tenant, queue.NamespaceTenant); shared {
			whose = "TemplateControllers whose service accounts are in namespace " + namespace
		}
	}
	message := fmt.Sprintf("the compiled spec needs about %d KiB of memory, which exceeds what is left of the %d KiB limit for %s: shorten its templates and values, delete other TemplateControllers, or raise the memory limit of templater",
		d.bytes>>10, limit>>10, whose)
	r := spec.Rejectf(v1.ReasonInsufficientMemory, "%s", message)
	r.Findings = []finding.Finding{{Code: finding.TooMuch, Severity: finding.Error, Where: "spec", Message: message}}
	return r
}
