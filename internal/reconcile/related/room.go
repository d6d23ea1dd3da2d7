package related

import "sync"

// Rooms bound what the selections of the parents of each tenant take together. It is safe for concurrent use.
type Rooms struct {
	most int // bytes for one tenant

	mu    sync.Mutex
	taken map[string]int // by tenant; none is 0
}

// NewRooms returns rooms of so many bytes, one for each tenant.
func NewRooms(most int) *Rooms { return &Rooms{most: most, taken: map[string]int{}} }

// take takes bytes for a tenant, or gives them back where they are negative, and reports whether there is room.
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
