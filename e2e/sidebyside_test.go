package e2e

import (
	"runtime"
	"testing"
)

// places are for the tests that run at a time: they wait for most of their time, so that there may be more of
// them than processors.
var places = make(chan struct{}, 3*runtime.NumCPU())

// parallel has the test run beside all others that say so, once there is a place. Each has operators, a
// class, and users of its own.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}

// TestSideBySide has the tests that take a minute or more, most of which is to see that little or nothing
// happens. They wait together: one operator serves them all, and each has a scope of its own, whose
// requests alone it counts. None of them asks what another one does.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	needsAudit(t)
	op := startOperator(t)
	for promise, test := range map[string]func(*scope, *operator){
		"a field of the status has one writer":                              aFieldOfTheStatusHasOneWriter,
		"status templates that count themselves up are slowed down":         statusTemplatesThatCountThemselvesUpAreSlowedDown,
		"a child that somebody keeps changing slows its parent down alone":  aChildThatSomebodyKeepsChangingSlowsItsParentDownAlone,
		"a version that is served no more costs no child":                   aVersionThatIsServedNoMoreCostsNoChild,
		"children of a deleted definition go with their TemplateController": childrenOfADeletedDefinitionGoWithTheirTemplateController,
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			s := newScope(t)
			test(s, op.of(s))
		})
	}
}
