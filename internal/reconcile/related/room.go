package related

import "sync"

// Rooms limit the memory for the selections of each tenant. It is safe for concurrent use.
type Rooms struct {
	most int // bytes for one tenant

	mu    sync.Mutex
	taken map[string]int // by tenant; none is 0
}

// NewRooms returns Rooms of that many bytes per tenant.
func NewRooms(most int) *Rooms { return &Rooms{most: most, taken: map[string]int{}} }

// take reserves bytes for a tenant, or releases them if negative, and reports whether they fit.
func (r *Rooms) take(tenant string, bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.taken[tenant] + bytes
	if bytes > 0 && now > r.most {
		return false
	}
	if now == 0 {
		delete(r.taken, tenant)
	} else {
		r.taken[tenant] = now
	}
	return true
}
