package reconcile

import "sync"

// gate bounds how many passes are under way. One whose requests hang gives its place to another worker, so that
// the number of workers is no bound: of one controller there are as many as there are workers, and when there are many
// of all, one of each. What is too many is held, and let into the queue again when passes of its
// controller end, first come first served. It is safe for concurrent use.
type gate struct {
	queue Queue
	each  int // passes of one controller
	all   int // passes of all, from which on there is one of each

	mu      sync.Mutex
	passes  int
	passing map[string]int   // the passes of each controller; none is 0
	held    map[string][]Key // by controller; none is empty
	holding map[Key]struct{} // these keys
	let     map[Key]struct{} // held before, and counted as passes already
}

// crowd is how many times as many passes as there are workers may be under way before there is one of
// each controller only.
const crowd = 8

func newGate(queue Queue, workers int) *gate {
	return &gate{
		queue: queue, each: workers, all: crowd * workers,
		passing: map[string]int{}, held: map[string][]Key{}, holding: map[Key]struct{}{}, let: map[Key]struct{}{},
	}
}

// enter reports whether the pass over a key may begin; then leave is to be called at its end. If not, the
// key comes again.
func (g *gate) enter(key Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, let := g.let[key]; let {
		delete(g.let, key)
		return true
	}
	if len(g.held[key.Controller]) == 0 && !g.full(key.Controller) {
		g.passes++
		g.passing[key.Controller]++
		return true
	}
	if _, twice := g.holding[key]; !twice {
		g.holding[key] = struct{}{}
		g.held[key.Controller] = append(g.held[key.Controller], key)
	}
	return false
}

// leave takes note of the end of a pass.
func (g *gate) leave(key Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passes--
	if g.passing[key.Controller]--; g.passing[key.Controller] == 0 {
		delete(g.passing, key.Controller)
	}
	for len(g.held[key.Controller]) > 0 && !g.full(key.Controller) {
		g.letIn(key.Controller)
	}
}

// letIn lets the key into the queue that was held first; the lock is held.
func (g *gate) letIn(controller string) {
	keys := g.held[controller]
	key := keys[0]
	if keys = keys[1:]; len(keys) > 0 {
		g.held[controller] = keys
	} else {
		delete(g.held, controller)
	}
	delete(g.holding, key)
	g.let[key] = struct{}{}
	g.passes++
	g.passing[controller]++
	g.queue.Add(key)
}

// full reports whether no more passes of a controller may begin. There may always be one, so
// that what is held comes again at its end. The lock is held.
func (g *gate) full(controller string) bool {
	passing := g.passing[controller]
	return passing >= g.each || passing > 0 && g.passes >= g.all
}
