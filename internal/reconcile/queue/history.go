package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// History is the state that is kept between reconciliations of parents.
type History struct {
	Pacer    *UnmatchedParentLimiter
	Absences *AbsentParents
	// Orphaning is also updated from watch events.
	Orphaning *OrphaningParents
	Attempts  *Attempts
	Breaker   *Breaker
}

// NewHistory returns an empty history.
func NewHistory(clock clock.PassiveClock) *History {
	return &History{
		Pacer: NewDeparturePacer(clock), Absences: NewAbsentParents(clock), Orphaning: NewOrphaningParents(), Attempts: NewAttempts(), Breaker: NewBreaker(clock),
	}
}

// ForgetController drops the state of all parents of a TemplateController.
func (h *History) ForgetController(name string) {
	for _, each := range []interface{ ForgetController(name string) }{h.Pacer, h.Absences, h.Orphaning, h.Attempts, h.Breaker} {
		each.ForgetController(name)
	}
}

// CollectorTime is how long the garbage collector has to delete children of a deleted parent before templater deletes
// them itself.
const CollectorTime = 60 * time.Second

// AbsentParents records when parents that still have children were first missing. It is safe for concurrent use.
type AbsentParents struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[Key]time.Time
}

// NewAbsentParents returns an empty AbsentParents.
func NewAbsentParents(clock clock.PassiveClock) *AbsentParents {
	return &AbsentParents{clock: clock, since: map[Key]time.Time{}}
}

// Left returns how much of CollectorTime is left. The first call for a key starts it.
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

// End records that a parent exists again, or has no children left.
func (a *AbsentParents) End(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}

// ForgetController drops the parents of a deleted TemplateController.
func (a *AbsentParents) ForgetController(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	DropController(a.since, name)
}

// OrphaningParents records parents that were deleted with --cascade=orphan. Only a finalizer shows that, and the
// garbage collector may have removed it by the next reconciliation. It is safe for concurrent use.
type OrphaningParents struct {
	mu      sync.Mutex
	parents map[Key]types.UID
}

// NewOrphaningParents returns an empty OrphaningParents.
func NewOrphaningParents() *OrphaningParents {
	return &OrphaningParents{parents: map[Key]types.UID{}}
}

// Note records that the parent with that UID is deleted and its dependents are orphaned.
func (o *OrphaningParents) Note(key Key, parent types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parents[key] = parent
}

// Has reports whether Note was called for that parent UID.
func (o *OrphaningParents) Has(key Key, parent types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.parents[key]
	return ok && known == parent
}

// End drops the record of earlier parents with that name. there is the UID of the current parent, or "" if there is
// none. Its record is kept: a watch may have reported its deletion since the reconciliation read it.
func (o *OrphaningParents) End(key Key, there types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.parents[key] != there {
		delete(o.parents, key)
	}
}

// ForgetController drops the parents of a deleted TemplateController.
func (o *OrphaningParents) ForgetController(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	DropController(o.parents, name)
}

// Attempt records since when the cleanup of a deleted parent has been attempted without interruption.
type Attempt struct {
	Parent types.UID
	// Generation is the generation of the TemplateController. Another one may clean up differently, or follow a
	// suspension.
	Generation int64
	// Noted is the start in API server time, rounded up to a second.
	Noted time.Time
	// Seen is the start in local time.
	Seen time.Time
}

// Attempts holds the attempts of this process. Losing them only causes a delay: without an attempt, no timeout releases
// a parent. It is safe for concurrent use.
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

// Of returns the attempt for that parent UID and generation of the TemplateController, or false.
func (a *Attempts) Of(key Key, parent types.UID, generation int64) (Attempt, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	attempt, known := a.since[key]
	return attempt, known && attempt.Parent == parent && attempt.Generation == generation
}

// End drops an attempt because it was interrupted or the parent was deleted.
func (a *Attempts) End(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}

// ForgetController drops the attempts of a deleted TemplateController.
func (a *Attempts) ForgetController(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	DropController(a.since, name)
}
