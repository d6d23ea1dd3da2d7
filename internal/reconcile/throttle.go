package reconcile

import "time"

// throttle finds how many requests of mass work may be under way at a time: as many
// as the API server deals with side by side, and no more that would only wait there, and
// have everybody's requests wait. It tries some more now and then, and takes them back when
// requests take longer for it, as TCP Vegas does with packets. Its user locks it.
type throttle struct {
	most  int // never more than this
	limit int
	best  time.Duration // mean time of a request with the fewest
	// The requests since the limit was last thought over, the time that they took in sum,
	// and how many are still to come that began under another limit, and do not count.
	requests int
	spent    time.Duration
	others   int
	age      int // of best: how often the limit was thought over since
}

const (
	// fewest is the least limit: one request to be worked on, and one that comes in or goes out meanwhile.
	fewest = 2
	// lasting is how often best is relied on before it is taken anew, because the speed of
	// a server changes.
	lasting = 16
	// roomy is how many times as long as the best mean requests may take for the limit
	// to grow, crowded when it shrinks.
	roomy, crowded = 1.2, 1.35
)

func newThrottle(most int) *throttle { return &throttle{most: max(most, fewest), limit: fewest} }

// took takes note of requests of mass work that took so long in sum.
func (t *throttle) took(requests int, spent time.Duration) {
	if t.others > 0 {
		t.others -= requests
		return
	}
	t.requests += requests
	t.spent += spent
	if t.requests < 32+16*t.limit { // single requests differ a lot
		return
	}
	mean := t.spent / time.Duration(t.requests)
	t.requests, t.spent = 0, 0
	t.set(t.next(mean))
}

// next is the limit after requests have taken mean under the present one.
func (t *throttle) next(mean time.Duration) int {
	if t.limit == fewest {
		t.best, t.age = mean, 0
	}
	t.age++
	ratio := float64(mean) / float64(max(t.best, 1))
	switch {
	case t.age > lasting:
		return fewest
	case ratio <= roomy:
		return t.limit + max(1, t.limit/2)
	case ratio > crowded:
		return t.limit * 3 / 4
	}
	return t.limit
}

func (t *throttle) set(limit int) {
	limit = min(max(limit, fewest), t.most)
	if limit < t.limit {
		t.others = t.limit
	}
	t.limit = limit
}
