package queue

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestAbsencesAreForgottenWithTheTemplateController(t *testing.T) {
	a := NewAbsences(clocktesting.NewFakePassiveClock(time.Now()))
	a.Left(keyOf("a", "1"))
	a.Left(keyOf("b", "1"))
	a.ForgetController("a")
	if _, kept := a.since[keyOf("b", "1")]; len(a.since) != 1 || !kept {
		t.Errorf("remembered %v, want those of the other", a.since)
	}
}
