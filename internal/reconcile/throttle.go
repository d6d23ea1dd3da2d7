package reconcile

import "time"

// throttle finds how many requests of mass work may be under way at a time: as many
// as the API server deals with side by side, and no more that would only wait there, and
// have everybody's requests wait. It tries one more now and then, and takes it back when
// requests take longer for it, as TCP Vegas does with packets. Its user locks it.
type throttle struct {
	most  int // never more than this
	limit int
	best  time.Duration // mean time of a request with the fewest
	// The requests since the limit was last thought over, and the time that they took
	// in sum.
	requests int
	spent    time.Duration
}

const (
	// fewest is the least limit: one request to be worked on, and one that comes in or goes out meanwhile.
	fewest = 2
	// sample is of how many requests the mean is taken.
	sample = 32
	// roomy is how many times as long as the best mean requests may take for the limit
	// to grow, crowded when it shrinks.
	roomy, crowded = 1.2, 1.35
)

func newThrottle(most int) *throttle { return &throttle{most: max(most, fewest), limit: fewest} }

// took takes note of requests of mass work that took so long in sum.
func (t *throttle) took(requests int, spent time.Duration) {
	t.requests += requests
	t.spent += spent
	if t.requests < sample {
		return
	}
	mean := t.spent / time.Duration(t.requests)
	t.requests, t.spent = 0, 0
	if t.limit == fewest {
		t.best = mean // what others do at the server changes with time
	}
	switch ratio := float64(mean) / float64(max(t.best, 1)); {
	case ratio <= roomy:
		t.limit = min(t.limit+1, t.most)
	case ratio > crowded:
		t.limit = max(t.limit-1, fewest)
	}
}
