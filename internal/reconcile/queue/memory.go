package queue

import (
	"context"
	"math"
	"sync"

	"github.com/templater-dev/templater/internal/render/budget"
)

const (
	// memoryShare is the part of GOMEMLIMIT that reconciliations may hold together, one in so many. The caches have the rest.
	memoryShare = 3
	// keptShare is the least part of that for rendered objects, one in so many. The rest is for rendering.
	keptShare = 8
	// assumedLimit is the limit where none is set, in bytes.
	assumedLimit = 2 << 30
)

// Memory bounds what reconciliations hold together, besides budget.FreeBytes each. One that needs more first takes a
// place, which pays for all that it can ever use, budget.MaxBytes. So none waits for memory that another one holds while that one waits, too. With its
// objects rendered, it gives the place back if there is room for these. A tenant has at most half of the places and half
// of the room. It is safe for concurrent use.
type Memory struct {
	tenants *Tenants
	places  *places
	room    int // bytes for rendered objects

	mu   sync.Mutex
	kept map[string]int // of the room, by tenant; none is 0
	all  int            // of these
}

// NewMemory returns the memory of a process with that limit, which is math.MaxInt64 where there is none.
func NewMemory(limit int64, tenants *Tenants) *Memory {
	if limit == math.MaxInt64 {
		limit = assumedLimit
	}
	size := int(limit / memoryShare)
	places := newPlaces((size - size/keptShare) / budget.MaxBytes)
	return &Memory{tenants: tenants, places: places, room: max(0, size-places.most*budget.MaxBytes), kept: map[string]int{}}
}

// Held returns how many bytes the places and the rendered objects take.
func (m *Memory) Held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.places.number()*budget.MaxBytes + m.all
}

// Waiting returns how many reconciliations wait for a place.
func (m *Memory) Waiting() int { return m.places.queued() }

// Reserve waits until something besides reconciliations may hold that many bytes, and returns what gives them back. The error says that ctx has
// ended before.
func (m *Memory) Reserve(ctx context.Context, controller string, bytes int) (release func(), err error) {
	var hold Reservation
	hold.Open(ctx, m, controller)
	if err := hold.Grow(bytes); err != nil {
		hold.Close()
		return nil, err
	}
	return hold.Close, nil
}

// Reservation is what one reconciliation holds of the Memory, which is nothing for most of them. It is the Memory of a
// budget.Pass. It is used by one goroutine.
type Reservation struct {
	memory     *Memory
	controller string
	stop       <-chan struct{} // closed when the reconciliation is to end
	worker     *Worker
	tenant     string // known once it holds something
	placed     bool
	kept       int // bytes
}

// Open readies a reservation for a reconciliation with that context. Close is to be called at its end.
func (h *Reservation) Open(ctx context.Context, memory *Memory, controller string) {
	*h = Reservation{memory: memory, controller: controller, stop: ctx.Done(), worker: WorkerOf(ctx)}
}

// Grow lets the reconciliation use more memory. It may wait, and returns an error when the reconciliation is to end.
func (h *Reservation) Grow(int) error {
	select {
	case <-h.stop:
		return context.Canceled
	default:
	}
	if h.placed {
		return nil
	}
	if h.tenant == "" { // it is kept, also when the controller gets another service account meanwhile
		h.tenant = h.memory.tenants.Name(h.controller)
	}
	if err := h.takePlace(); err != nil {
		return err
	}
	h.placed = true
	h.keep(0) // the place pays for that, too
	h.worker.Long()
	return nil
}

// takePlace waits for a place.
func (h *Reservation) takePlace() error {
	given := h.memory.places.take(h.tenant)
	if given == nil {
		return nil
	}
	defer h.worker.queue()()
	select {
	case <-given:
		return nil
	case <-h.stop:
		if !h.memory.places.withdraw(h.tenant, given) {
			h.memory.places.put(h.tenant)
		}
		return context.Canceled
	}
}

// Settle says that the reconciliation has rendered its objects, and holds no more than so many bytes until it asks for more.
func (h *Reservation) Settle(bytes int) {
	if h.placed && h.keep(bytes) {
		h.placed = false
		h.memory.places.put(h.tenant)
	}
}

// Close gives all back.
func (h *Reservation) Close() {
	h.Settle(0)
	h.keep(0)
}

// keep takes room for so many bytes instead of what the reconciliation has had, and reports whether there is that much.
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
