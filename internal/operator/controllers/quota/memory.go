// Package quota limits the memory, watches and cache space that TemplateControllers use.
package quota

import (
	"cmp"
	"fmt"
	"maps"
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
	"github.com/templater-dev/templater/internal/reconcile/revision"
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
	// maxNamespaced is how many NamespacedTemplateControllers of one namespace run: each costs memory and syncs even if it
	// is small and needs no watch of its own.
	maxNamespaced = 100
)

// Memory decides which TemplateControllers are compiled, so that all of them fit in memory, and that at most
// Most NamespacedTemplateControllers of a namespace run. It uses spec.Size, so that nothing needs to be compiled to find out. An admitted
// TemplateController is never rejected later in favor of another one, not even after a restart, because the Accepted
// condition records it. Of the others, the oldest ones that fit are admitted.
//
// Earlier revisions that still run count, too: see Hold. A spec replaces the revision that runs, so it needs to fit beside all others, but not
// beside that one. A spec whose revision is compiled already only needs to fit beside other specs, so that a rollout can always be approved,
// paused, resumed and undone. It is safe for concurrent use.
type Memory struct {
	Limit    int // of all specs together, in bytes
	Most     int // NamespacedTemplateControllers of a namespace
	tenants  *queue.Tenants
	admitted func(name string) // called for a TemplateController that was rejected before

	mu      sync.Mutex
	demands map[string]*Demand      // by TemplateController
	shares  map[string]*tenantUsage // by tenant
	usage
	full bool // a demand within the limits of its tenant may have been rejected
}

// Demand is the memory that a TemplateController needs.
type Demand struct {
	name, tenant string
	namespaced   bool // a NamespacedTemplateController
	uid          types.UID
	generation   int64
	created      time.Time
	accepted     bool // this generation, according to its status
	bytes        int
	admitted     bool
	revision     string // ID of the revision in the spec; "" = unknown
	compiled     bool   // the revision runs already, according to the status, or to the generation before
	runs         bool   // a revision runs, according to the status
	rolling      bool   // a rollout is in progress, according to the status
	held         Held
}

// Held is the memory of the compiled revisions of a TemplateController that run besides that of its latest spec, in bytes.
type Held struct {
	Running int // of status.updateRevision, which the latest spec replaces once it is admitted
	Base    int // of status.currentRevision during a rollout
}

func (h Held) total() int { return h.Running + h.Base }

// usage is the memory in use.
type usage struct {
	bytes      int // of specs that are admitted
	held       int // of earlier revisions
	namespaced int // NamespacedTemplateControllers that are admitted
}

// tenantUsage has the demands of a tenant.
type tenantUsage struct {
	usage

	waiting []*Demand // that are not admitted, oldest first
}

// NewMemory returns the Memory for a process with that memory limit in bytes; math.MaxInt64 means no limit.
func NewMemory(limit int64, tenants *queue.Tenants, admitted func(name string)) *Memory {
	return &Memory{Limit: int(MemoryOf(limit) / share), Most: maxNamespaced, tenants: tenants, admitted: admitted, demands: map[string]*Demand{}, shares: map[string]*tenantUsage{}}
}

// MemoryOf returns the memory of a process with that limit, in bytes.
func MemoryOf(limit int64) int64 {
	if limit == math.MaxInt64 {
		return defaultMemory
	}
	return limit
}

// DemandOf returns the demand of a TemplateController with that spec.Size and that revision.
func (m *Memory) DemandOf(tc *v1.TemplateController, size int, id string) *Demand {
	accepted := meta.FindStatusCondition(tc.Status.Conditions, v1.ConditionAccepted)
	return &Demand{
		revision: id, runs: tc.Status.UpdateRevision != "", rolling: tc.Status.CurrentRevision != tc.Status.UpdateRevision,
		compiled: id != "" && (id == tc.Status.CurrentRevision || id == tc.Status.UpdateRevision),
		name:     tc.Key(), tenant: m.tenants.Name(tc.Key()), namespaced: tc.Namespace != "", uid: tc.UID, generation: tc.Generation, created: tc.CreationTimestamp.Time, bytes: size,
		accepted: accepted != nil && accepted.Status == metav1.ConditionTrue && accepted.ObservedGeneration == tc.Generation,
	}
}

// Begin decides about all existing TemplateControllers: those that were accepted before have precedence.
func (m *Memory) Begin(all []*Demand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.demands)
	clear(m.shares)
	m.usage, m.full = usage{}, false
	all = slices.SortedFunc(slices.Values(all), before)
	for _, accepted := range []bool{true, false} {
		for _, d := range all {
			if d.accepted == accepted {
				m.add(d)
			}
		}
		if accepted { // the exact size of what runs besides is only known after the first sync, see Hold
			for _, d := range all {
				m.hold(d, d.estimate())
			}
		}
	}
}

// Admit returns why a TemplateController may not be compiled, or nil. measure returns its spec.Size and its revision, and is called once per
// generation. The revision that it replaces counts until Hold is called.
func (m *Memory) Admit(tc *v1.TemplateController, measure func() (size int, revision string)) *spec.Rejection {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.demands[tc.Key()]
	if old := d; d == nil || d.uid != tc.UID || d.generation != tc.Generation {
		size, id := measure()
		d = m.DemandOf(tc, size, id)
		m.replace(old, d)
	}
	if d.admitted {
		return nil
	}
	return m.refusal(d)
}

// Refuse returns why a TemplateController under review would not be compiled, or nil. It does not change any decision.
func (m *Memory) Refuse(tc *v1.TemplateController) *spec.Rejection {
	d := m.DemandOf(tc, spec.Size(&tc.Spec), revision.IDOf(&tc.Spec))
	d.tenant = queue.TenantOf(tc.Key(), tc.Spec.ServiceAccountRef)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.demands[tc.Key()]
	if now == nil {
		return m.refusal(d)
	}
	if now.admitted {
		m.use(now, -1)
		defer m.use(now, 1)
	}
	held := now.held
	m.hold(now, Held{})
	m.hold(d, held)
	d.compiled = d.compiled || now.admitted && now.revision == d.revision
	r := m.refusal(d)
	m.hold(d, Held{})
	m.hold(now, held)
	m.dropUnused(d.tenant)
	return r
}

// Hold sets the memory of the earlier revisions of a TemplateController that run.
func (m *Memory) Hold(name string, held Held) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.demands[name]
	if d == nil || d.held == held {
		return
	}
	before := d.held
	m.hold(d, held)
	if held.total() < before.total() || held.Base < before.Base {
		m.admitWaiting(d.tenant)
	}
}

// ForgetController frees the memory of a deleted TemplateController for those that wait.
func (m *Memory) ForgetController(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.demands[name]; d != nil {
		m.remove(d)
		m.admitWaiting(d.tenant)
	}
}

// before orders demands.
func before(a, b *Demand) int {
	return cmp.Or(a.created.Compare(b.created), strings.Compare(a.name, b.name))
}

// replace adds the demand of the latest generation of a TemplateController, and removes that of the generation before, old; nil = there was
// none. The caller holds the lock.
func (m *Memory) replace(old, d *Demand) {
	if old == nil {
		m.add(d)
		return
	}
	held := Held{}
	if old.uid == d.uid {
		held = old.held
		d.compiled = d.compiled || old.admitted && old.revision == d.revision && d.revision != ""
	}
	m.remove(old)
	m.hold(d, held)
	m.add(d)
	if old.uid == d.uid && old.admitted && old.revision != d.revision { // it may run until the next call of Hold
		held = Held{Running: old.bytes, Base: held.total()}
	}
	m.hold(d, held)
	m.admitWaiting(old.tenant)
}

// estimate returns what a TemplateController holds, as far as its status shows. It assumes that its revisions have the same size.
func (d *Demand) estimate() (held Held) {
	if d.runs && !d.accepted {
		held.Running = d.bytes
	}
	if d.rolling {
		held.Base = d.bytes
	}
	return held
}

// hold changes what a TemplateController holds. The caller holds the lock.
func (m *Memory) hold(d *Demand, held Held) {
	more := held.total() - d.held.total()
	d.held = held
	m.held += more
	m.of(d.tenant).held += more
}

// add admits a demand, or lets it wait. The caller holds the lock.
func (m *Memory) add(d *Demand) {
	m.demands[d.name] = d
	if m.admit(d) {
		return
	}
	of := m.of(d.tenant)
	at, _ := slices.BinarySearchFunc(of.waiting, d, before)
	of.waiting = slices.Insert(of.waiting, at, d)
}

// remove removes a demand; nil is ignored. The caller holds the lock.
func (m *Memory) remove(d *Demand) {
	if d == nil {
		return
	}
	delete(m.demands, d.name)
	of := m.of(d.tenant)
	m.hold(d, Held{})
	if d.admitted {
		m.use(d, -1)
	} else if at, waits := slices.BinarySearchFunc(of.waiting, d, before); waits {
		of.waiting = slices.Delete(of.waiting, at, at+1)
	}
	m.dropUnused(d.tenant)
}

// dropUnused drops the usage of a tenant without demands. The caller holds the lock.
func (m *Memory) dropUnused(tenant string) {
	if of := m.of(tenant); of.usage == (usage{}) && len(of.waiting) == 0 {
		delete(m.shares, tenant)
	}
}

// admitWaiting admits TemplateControllers that were rejected before and fit now, because a tenant uses less. The caller holds the lock.
func (m *Memory) admitWaiting(tenant string) {
	tenants := []string{tenant}
	if m.full { // tenants wait for each other
		tenants, m.full = slices.Collect(maps.Keys(m.shares)), false
	}
	var waiting []*Demand
	for _, tenant := range tenants {
		if of := m.shares[tenant]; of != nil {
			waiting = append(waiting, of.waiting...)
		}
	}
	slices.SortFunc(waiting, before)
	for _, d := range waiting {
		if m.admit(d) {
			of := m.of(d.tenant)
			at, _ := slices.BinarySearchFunc(of.waiting, d, before)
			of.waiting = slices.Delete(of.waiting, at, at+1)
			m.admitted(d.name)
		}
	}
}

// admit admits a demand if it fits. The caller holds the lock.
func (m *Memory) admit(d *Demand) bool {
	switch m.exceeded(d) {
	case noLimit:
		d.admitted = true
		m.use(d, 1)
	case allMemory:
		m.full = true
	case tenantMemory, number:
	}
	return d.admitted
}

// use adds a demand to what is in use, or subtracts it if by is -1. The caller holds the lock.
func (m *Memory) use(d *Demand, by int) {
	of := m.of(d.tenant)
	of.bytes += by * d.bytes
	m.bytes += by * d.bytes
	if d.namespaced {
		of.namespaced += by
	}
}

// of returns the usage of a tenant. The caller holds the lock.
func (m *Memory) of(tenant string) *tenantUsage {
	of := m.shares[tenant]
	if of == nil {
		of = &tenantUsage{}
		m.shares[tenant] = of
	}
	return of
}

// limit is a limit that a demand exceeds.
type limit int

const (
	noLimit limit = iota
	number        // of the NamespacedTemplateControllers of a namespace
	tenantMemory
	allMemory
)

// exceeded returns the limit that a demand exceeds. The caller holds the lock.
func (m *Memory) exceeded(d *Demand) limit {
	of := usage{}
	if in := m.shares[d.tenant]; in != nil {
		of = in.usage
	}
	all := m.usage
	of.held, all.held = of.held-d.held.Running, all.held-d.held.Running
	if d.compiled {
		of.held, all.held = 0, 0
	}
	switch {
	case d.namespaced && of.namespaced >= m.Most:
		return number
	case of.bytes+of.held+d.bytes > m.Limit/tenantShare:
		return tenantMemory
	case all.bytes+all.held+d.bytes > m.Limit:
		return allMemory
	}
	return noLimit
}

// refusal describes why a demand is not admitted, or returns nil if it fits. The caller holds the lock.
func (m *Memory) refusal(d *Demand) *spec.Rejection {
	most, whose := m.Limit, "all TemplateControllers"
	switch m.exceeded(d) {
	case noLimit:
		return nil
	case number:
		return refuse(v1.ReasonTooManyTemplateControllers, finding.TooMany, fmt.Sprintf(
			"the limit of %d NamespacedTemplateControllers in a namespace is reached, and older ones have precedence: delete others, or "+spec.AskForController+"; until then, children are left unchanged", m.Most))
	case tenantMemory:
		most, whose = m.Limit/tenantShare, whoseMemory(d)
	case allMemory:
	}
	return refuse(v1.ReasonInsufficientMemory, finding.TooMuch, fmt.Sprintf("the compiled spec needs about %d KiB of memory, which exceeds what is left of the %d KiB limit for %s: shorten its templates and values, delete other TemplateControllers, or raise the memory limit of templater",
		d.bytes>>10, most>>10, whose))
}

// whoseMemory describes the TemplateControllers of a tenant.
func whoseMemory(d *Demand) string {
	if namespace, shared := strings.CutPrefix(d.tenant, queue.NamespaceTenant); shared {
		return "TemplateControllers whose service accounts are in namespace " + namespace
	}
	return "a TemplateController without a service account"
}

// refuse returns a rejection of a whole spec, with its lint finding.
func refuse(reason string, code finding.Code, message string) *spec.Rejection {
	r := spec.Rejectf(reason, "%s", message)
	r.Findings = []finding.Finding{{Code: code, Severity: finding.Error, Where: "spec", Message: message}}
	return r
}
