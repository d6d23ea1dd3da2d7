package queue

import (
	"context"
	"math"
	"sync"

	"github.com/templater-dev/templater/internal/render/budget"
)

const (
	// memoryShare: 1/memoryShare of GOMEMLIMIT is available to all reconciliations together. The caches use the rest.
	memoryShare = 3
	// keptShare: at least 1/keptShare of that is for rendered objects. The rest is for rendering.
	keptShare = 8
	// assumedLimit is used if GOMEMLIMIT is not set, in bytes.
	assumedLimit = 2 << 30
)

// Memory limits the total memory of reconciliations, beyond budget.FreeBytes each. A reconciliation that needs more
// first acquires a slot, which covers all that it can ever use (budget.MaxBytes). This prevents deadlocks: no
// reconciliation holds memory while it waits for more. After rendering, it releases the slot if the rendered objects
// fit. A tenant has at most half of the slots and half of the room. It is safe for concurrent use.
type Memory struct {
	tenants *Tenants
	slots   *fairSlots
	room    int // bytes for rendered objects

	mu   sync.Mutex
	kept map[string]int // bytes of room in use by tenant; no entry is 0
	all  int            // sum of kept
}

// NewMemory returns the Memory for a process with that memory limit in bytes; math.MaxInt64 means no limit.
func NewMemory(limit int64, tenants *Tenants) *Memory {
	if limit == math.MaxInt64 {
		limit = assumedLimit
	}
	size := int(limit / memoryShare)
	slots := newFairSlots((size - size/keptShare) / budget.MaxBytes)
	return &Memory{tenants: tenants, slots: slots, room: max(0, size-slots.most*budget.MaxBytes), kept: map[string]int{}}
}

// Held returns the number of bytes reserved by slots and rendered objects.
func (m *Memory) Held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slots.number()*budget.MaxBytes + m.all
}

// Waiting returns the number of reconciliations that wait for a slot.
func (m *Memory) Waiting() int { return m.slots.queued() }

// Reserve reserves memory for work other than reconciliations, and returns a function that releases it. It blocks until
// memory is available, and returns an error if ctx is done first.
func (m *Memory) Reserve(ctx context.Context, controller string, bytes int) (release func(), err error) {
	var hold Reservation
	hold.Open(ctx, m, controller)
	if err := hold.Grow(bytes); err != nil {
		hold.Close()
		return nil, err
	}
	return hold.Close, nil
}

// Reservation is the memory that one reconciliation has reserved, which is nothing for most of them. It implements the
// Memory of a budget.Budget. It is not safe for concurrent use.
type Reservation struct {
	memory     *Memory
	controller string
	stop       <-chan struct{} // closed when the reconciliation must stop
	worker     *Worker
	tenant     string // set by the first Grow
	hasSlot    bool
	kept       int // bytes
}

// Open initializes the reservation of a reconciliation. The caller must call Close at its end.
func (h *Reservation) Open(ctx context.Context, memory *Memory, controller string) {
	*h = Reservation{memory: memory, controller: controller, stop: ctx.Done(), worker: WorkerOf(ctx)}
}

// Grow lets the reconciliation use more memory. It may block, and returns an error if the reconciliation must stop.
func (h *Reservation) Grow(int) error {
	select {
	case <-h.stop:
		return context.Canceled
	default:
	}
	if h.hasSlot {
		return nil
	}
	if h.tenant == "" { // not updated if the service account changes meanwhile
		h.tenant = h.memory.tenants.Name(h.controller)
	}
	if err := h.takeSlot(); err != nil {
		return err
	}
	h.hasSlot = true
	h.keep(0) // included in the slot
	h.worker.Long()
	return nil
}

// takeSlot blocks until a slot is granted.
func (h *Reservation) takeSlot() error {
	given := h.memory.slots.take(h.tenant)
	if given == nil {
		return nil
	}
	defer h.worker.queue()()
	select {
	case <-given:
		return nil
	case <-h.stop:
		if !h.memory.slots.withdraw(h.tenant, given) {
			h.memory.slots.put(h.tenant, 0)
		}
		return context.Canceled
	}
}

// Settle reduces the reservation to bytes after rendering, until the next Grow. If there is no room, it keeps the slot.
func (h *Reservation) Settle(bytes int) {
	if h.hasSlot && h.keep(bytes) {
		h.hasSlot = false
		h.memory.slots.put(h.tenant, 0)
	}
}

// Close releases the reservation.
func (h *Reservation) Close() {
	h.Settle(0)
	h.keep(0)
}

// keep changes the room used by the reconciliation to bytes. It returns false if there is not enough room.
func (h *Reservation) keep(bytes int) bool {
	more := bytes - h.kept
	if more == 0 {
		return true
	}
	m := h.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if more > 0 && (m.all+more > m.room || m.kept[h.tenant]+more > m.room/2) {
		return false
	}
	h.kept = bytes
	m.all += more
	if m.kept[h.tenant] += more; m.kept[h.tenant] == 0 {
		delete(m.kept, h.tenant)
	}
	return true
}
