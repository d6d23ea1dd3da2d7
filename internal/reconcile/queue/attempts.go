package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Attempt says since when the cleanup of a deleted parent has been attempted without an interruption.
type Attempt struct {
	Parent types.UID
	// Generation is that of the TemplateController. Another one may clean up differently, or was suspended in between.
	Generation int64
	// Noted is when it began by the clock of the API server, rounded up to a second.
	Noted time.Time
	// Seen is when it began by the clock of this process.
	Seen time.Time
}

// Attempts remembers the attempts of this process. Their loss delays: who has attempted nothing releases no parent by a timeout. It is safe
// for concurrent use.
type Attempts struct {
	mu    sync.Mutex
	since map[Key]Attempt
}

// NewAttempts returns an Attempts that knows of none.
func NewAttempts() *Attempts { return &Attempts{since: map[Key]Attempt{}} }

// Begin notes an attempt.
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

// End forgets an attempt: something has interrupted it, or the parent is gone.
func (a *Attempts) End(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}

// ForgetController forgets about a controller that is gone.
func (a *Attempts) ForgetController(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	DropController(a.since, name)
}
