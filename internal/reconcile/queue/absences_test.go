package queue

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestAbsencesAreForgottenWithTheTemplateController(t *testing.T) {
	a := NewAbsentParents(clocktesting.NewFakePassiveClock(time.Now()))
	a.Left(keyOf("a", "1"))
	a.Left(keyOf("b", "1"))
	a.ForgetController("a")
	if _, kept := a.since[keyOf("b", "1")]; len(a.since) != 1 || !kept {
		t.Errorf("remembered %v, want those of the other", a.since)
	}
}

func TestTheGarbageCollectorHasItsTimeOnce(t *testing.T) {
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
	after(time.Hour, CollectorTime) // it is missed anew
}
