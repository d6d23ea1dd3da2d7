package e2e

import (
	"runtime"
	"testing"
)

// places limits the number of concurrent tests: they wait for half of their time, so there may be more of them than CPUs.
// With even more, the API server no longer answers in time.
var places = make(chan struct{}, 2*runtime.NumCPU())

// parallel makes the test run in parallel with others that call it, once there is a place. Each has its own operators,
// class, and users.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	places <- struct{}{}
	t.Cleanup(func() { <-places })
}

// TestSlowScenariosInParallel runs the tests that take a minute or more, mostly to verify that little or nothing
// happens. They wait together: one operator serves them all, and each has its own scope and counts only the requests of
// that. They are independent of each other.
func TestSlowScenariosInParallel(t *testing.T) {
	t.Parallel()
	needsAudit(t)
	op := startOperator(t)
	for promise, test := range map[string]func(*scope, *operator){
		"a field of the status has one writer":                              aFieldOfTheStatusHasOneWriter,
		"status templates that count themselves up are slowed down":         statusTemplatesThatCountThemselvesUpAreSlowedDown,
		"repeated changes of a child only delay its parent":                 aChildThatSomebodyKeepsChangingSlowsItsParentDownAlone,
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
