package permissions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestPermissionReviewsAreCached(t *testing.T) {
	c := newServer(t)
	r := c.tracker()
	need := Requirement{As: robot, Use: Namespaces, Resource: namespaces}
	c.lacks["team:robot list namespaces"] = true
	work := func() (reviewResult, int) {
		before := len(c.asked)
		r.look(need, "one")
		r.look(need, "two")
		for r.queue.Len() > 0 {
			r.Next(t.Context())
		}
		return r.look(need, "one"), len(c.asked) - before
	}
	f, asked := work()
	if !f.known || !slices.Equal(f.missing, []string{"list"}) || asked != 2 {
		t.Errorf("finding %+v after %d questions, want list missing after 2", f, asked)
	}
	slices.Sort(c.told)
	if !slices.Equal(c.told, []string{"one", "two"}) {
		t.Errorf("told %v, want both that asked", c.told)
	}
	if _, asked := work(); asked != 0 {
		t.Errorf("%d questions again at once", asked)
	}
	c.clock.SetTime(c.clock.Now().Add(CacheTTL))
	if _, asked := work(); asked != 2 || len(c.told) != 2 {
		t.Errorf("%d questions after a while and %d told, want 2 and nobody new", asked, len(c.told))
	}
	c.fails["team:robot list namespaces"] = errors.New("no answer")
	c.clock.SetTime(c.clock.Now().Add(CacheTTL))
	if f, asked := work(); asked != 1 || !slices.Equal(f.missing, []string{"list"}) {
		t.Errorf("finding %+v after %d questions without an answer, want the last one", f, asked)
	}
	clear(c.fails)
	clear(c.lacks)
	c.clock.SetTime(c.clock.Now().Add(CacheTTL))
	if f, _ := work(); len(f.missing) > 0 || len(c.told) != 4 {
		t.Errorf("finding %+v and told %v once it is granted", f, c.told)
	}
	c.clock.SetTime(c.clock.Now().Add(maxUnused + time.Second))
	need.As = ""
	work()
	if len(r.found) != 1 {
		t.Errorf("%d findings are kept, want none that nobody asks for", len(r.found))
	}
}

func TestPermissionReviewQueueIsBounded(t *testing.T) {
	r := newServer(t).tracker()
	for i := range 2 * maxQueued {
		need := Requirement{Use: Children, Resource: namespaces, Namespaced: true, Namespace: fmt.Sprint("n", i)}
		r.look(need, "c")
	}
	if got := r.Len(); got != maxQueued {
		t.Errorf("%d claims wait, want %d", got, maxQueued)
	}
	if got := len(r.found); got != 2*maxQueued {
		t.Errorf("%d claims are known, want %d: each was asked for a moment ago", got, 2*maxQueued)
	}
}

func TestTrackerStopsWithContext(t *testing.T) {
	c := newServer(t)
	r := c.tracker()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.look(Requirement{Use: Status}, "c")
	r.Run(ctx) // returns
	if len(c.asked) > 0 {
		t.Errorf("asked %v", c.asked)
	}
}

func TestReviewRequestsPerClaim(t *testing.T) {
	impersonation := Requirement{As: robot, Use: Namespaces, Resource: namespaces, impersonation: true}
	const act, list = "impersonate:serviceaccount serviceaccounts team", "impersonate-on:serviceaccount:list namespaces"
	account := Requirement{Use: Existence, Resource: serviceAccounts, Namespaced: true, Namespace: "team", Name: "robot"}
	for why, row := range map[string]struct {
		claim  Requirement
		lacks  string
		fails  string
		want   reviewResult
		asked  int
		sought int
	}{
		"rights to act as a user, some of which are missing": {impersonation, list, "", reviewResult{known: true, constrained: true, missing: []string{"impersonate-on:serviceaccount:list"}}, 3, 0},
		"none to act as a user":                              {impersonation, act, "", reviewResult{known: true}, 1, 0},
		"whether there is one is not answered":               {impersonation, "", act, reviewResult{}, 1, 0},
		"an object that is there":                            {account, "", "", reviewResult{known: true}, 0, 1},
		"an object that is not":                              {account, "serviceaccounts team robot", "", reviewResult{known: true, absent: true}, 0, 1},
		"an object that is not answered for":                 {account, "", "serviceaccounts team robot", reviewResult{}, 0, 1},
	} {
		s := newServer(t)
		s.lacks[row.lacks] = true
		if row.fails != "" {
			s.fails[row.fails] = errors.New("no answer")
		}
		got, err := s.tracker().ask(t.Context(), row.claim)
		if !got.same(row.want) || (err != nil) != (row.fails != "") || len(s.asked) != row.asked || len(s.sought) != row.sought {
			t.Errorf("%s: %+v, %v after %q and %q, want %+v", why, got, err, s.asked, s.sought, row.want)
		}
	}
}

func TestTrackerStopsAfterShutDown(t *testing.T) {
	s := newServer(t)
	r := s.tracker()
	r.look(Requirement{Use: Status}, "c")
	r.ShutDown()
	r.Run(t.Context())
	if len(s.asked) != 1 {
		t.Errorf("asked %v, want what waited", s.asked)
	}
}

func TestUnrequestedResultIsDropped(t *testing.T) {
	r := newServer(t).tracker()
	if told := r.take(Requirement{Use: Status}, reviewResult{known: true}); len(told) > 0 || len(r.found) > 0 {
		t.Errorf("told %v, and kept %v", told, r.found)
	}
}

func TestFailedPermissionReviewIsNotPending(t *testing.T) {
	r, about := newServer(t).tracker(), Requirement{Use: Status}
	if f := r.look(about, "c"); !f.pending {
		t.Error("nothing is known, and nothing waited for")
	}
	if told := r.take(about, reviewResult{}); len(told) != 1 {
		t.Errorf("told %v, want who waits", told)
	}
	if f := r.look(about, "c"); f.pending {
		t.Error("it is waited for, though it was not answered")
	}
}
