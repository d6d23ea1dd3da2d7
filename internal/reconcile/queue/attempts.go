package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

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
