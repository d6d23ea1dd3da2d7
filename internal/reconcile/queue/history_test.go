package queue

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestForgetControllerRemovesAbsentParents(t *testing.T) {
	a := NewAbsentParents(clocktesting.NewFakePassiveClock(time.Now()))
	a.Left(keyOf("a", "1"))
	a.Left(keyOf("b", "1"))
	a.ForgetController("a")
	if _, kept := a.since[keyOf("b", "1")]; len(a.since) != 1 || !kept {
		t.Errorf("remembered %v, want those of the other", a.since)
	}
}

func TestGarbageCollectorGracePeriodIsGrantedOnce(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	a, key := NewAbsentParents(clock), keyOf("a", "1")
	after := func(passed, want time.Duration) {
		t.Helper()
		clock.SetTime(clock.Now().Add(passed))
		if got := a.Left(key); got != want {
			t.Errorf("%s is left, want %s", got, want)
		}
	}
	after(0, CollectorTime)
	after(time.Second, CollectorTime-time.Second)
	after(time.Hour, 0)
	a.End(key)
	after(time.Hour, CollectorTime) // it disappears again
}

func TestAttemptsMatchParentUIDAndGeneration(t *testing.T) {
	key, attempt := keyOf("a", "1"), Attempt{Parent: "uid", Generation: 2, Noted: time.Unix(1, 0), Seen: time.Unix(2, 0)}
	for why, row := range map[string]struct {
		key        Key
		parent     types.UID
		generation int64
		end        func(a *Attempts)
		want       bool
	}{
		"the same":                   {key, "uid", 2, func(*Attempts) {}, true},
		"another key":                {keyOf("a", "2"), "uid", 2, func(*Attempts) {}, false},
		"another parent":             {key, "other", 2, func(*Attempts) {}, false},
		"another generation":         {key, "uid", 3, func(*Attempts) {}, false},
		"it was interrupted":         {key, "uid", 2, func(a *Attempts) { a.End(key) }, false},
		"another one was":            {key, "uid", 2, func(a *Attempts) { a.End(keyOf("a", "2")) }, true},
		"its controller is gone":     {key, "uid", 2, func(a *Attempts) { a.ForgetController("a") }, false},
		"another controller is gone": {key, "uid", 2, func(a *Attempts) { a.ForgetController("b") }, true},
	} {
		t.Run(why, func(t *testing.T) {
			a := NewAttempts()
			a.Begin(key, attempt)
			row.end(a)
			if got, known := a.Of(row.key, row.parent, row.generation); known != row.want || known && got != attempt {
				t.Errorf("%+v, %v; want %v", got, known, row.want)
			}
		})
	}
}
