package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// History is what reconciliations of parents leave for later ones.
type History struct {
	Pacer    *DeparturePacer
	Absences *AbsentParents
	// Orphaning hears of parents from the watches, too.
	Orphaning *OrphaningParents
	Attempts  *Attempts
	Breaker   *Breaker
}

// NewHistory returns a history without an entry.
func NewHistory(clock clock.PassiveClock) *History {
	return &History{
		Pacer: NewDeparturePacer(clock), Absences: NewAbsentParents(clock), Orphaning: NewOrphaningParents(), Attempts: NewAttempts(), Breaker: NewBreaker(clock),
	}
}

// ForgetController drops what is remembered of the parents of a TemplateController.
func (h *History) ForgetController(name string) {
	for _, each := range []interface{ ForgetController(name string) }{h.Pacer, h.Absences, h.Orphaning, h.Attempts, h.Breaker} {
		each.ForgetController(name)
	}
}

// CollectorTime is how long children of a deleted parent are left to the
// garbage collector before templater deletes them itself.
const CollectorTime = 60 * time.Second

// AbsentParents remembers since when parents are missed that still have children. It
// is safe for concurrent use.
type AbsentParents struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[Key]time.Time
}

// NewAbsentParents returns an AbsentParents that knows of none.
func NewAbsentParents(clock clock.PassiveClock) *AbsentParents {
	return &AbsentParents{clock: clock, since: map[Key]time.Time{}}
}

// Left returns how much of the garbage collector's time is left; the first
// call for a key begins it.
func (a *AbsentParents) Left(key Key) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, ok := a.since[key]
	if !ok {
		since = a.clock.Now()
		a.since[key] = since
	}
	return max(0, CollectorTime-a.clock.Since(since))
}

// End records that a parent exists again, or that no children of it are left.
func (a *AbsentParents) End(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}

// ForgetController drops what is remembered of a controller that was deleted.
func (a *AbsentParents) ForgetController(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	DropController(a.since, name)
}

// OrphaningParents remembers parents that were deleted with --cascade=orphan. Only a finalizer shows that,
// which the garbage collector may have removed by the next reconciliation. It is safe for concurrent use.
type OrphaningParents struct {
	mu      sync.Mutex
	parents map[Key]types.UID
}

// NewOrphaningParents returns an OrphaningParents that knows of none.
func NewOrphaningParents() *OrphaningParents {
	return &OrphaningParents{parents: map[Key]types.UID{}}
}

// Note says that the parent of that UID is deleted without its dependents.
func (o *OrphaningParents) Note(key Key, parent types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parents[key] = parent
}

// Has reports whether that was said of the parent of that UID.
func (o *OrphaningParents) Has(key Key, parent types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.parents[key]
	return ok && known == parent
}

// End drops what is remembered of earlier parents of that name. there is the UID of the current one, "" if there is none: a watch may have
// reported its deletion since the reconciliation began, which does not know about it.
func (o *OrphaningParents) End(key Key, there types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.parents[key] != there {
		delete(o.parents, key)
	}
}

// ForgetController drops what is remembered of a controller that was deleted.
func (o *OrphaningParents) ForgetController(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	DropController(o.parents, name)
}

// Attempt records since when the cleanup of a deleted parent has been attempted without interruption.
type Attempt struct {
	Parent types.UID
	// Generation is that of the TemplateController. Another generation may clean up differently, or may follow a suspension.
	Generation int64
	// Noted is the start by the clock of the API server, rounded up to a second.
	Noted time.Time
	// Seen is the start by the clock of this process.
	Seen time.Time
}

// Attempts holds the attempts of this process. Losing them only delays: without an attempt, no timeout releases a parent. It is safe for
// concurrent use.
type Attempts struct {
	mu    sync.Mutex
	since map[Key]Attempt
}

// NewAttempts returns empty Attempts.
func NewAttempts() *Attempts { return &Attempts{since: map[Key]Attempt{}} }

// Begin records an attempt.
func (a *Attempts) Begin(key Key, attempt Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since[key] = attempt
}

// Of returns the attempt for that parent under that generation of its TemplateController, or false.
func (a *Attempts) Of(key Key, parent types.UID, generation int64) (Attempt, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	attempt, known := a.since[key]
	return attempt, known && attempt.Parent == parent && attempt.Generation == generation
}

// End forgets an attempt because it was interrupted or the parent was deleted.
func (a *Attempts) End(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}

// ForgetController forgets the attempts of a deleted TemplateController.
func (a *Attempts) ForgetController(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	DropController(a.since, name)
}
