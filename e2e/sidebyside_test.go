package e2e

import "testing"

// TestSideBySide has the tests that take a minute or more, most of which is to see that little or nothing
// happens. They wait together: one operator serves them all, and each has a scope of its own, whose
// requests alone it counts. None of them asks what another one does.
func TestSideBySide(t *testing.T) {
	needsAudit(t)
	op := startOperator(t)
	for promise, test := range map[string]func(*scope, *operator){
		"two TemplateControllers that fight over a field are slowed down":  twoTemplateControllersThatFightOverAFieldAreSlowedDown,
		"status templates that count themselves up are slowed down":        statusTemplatesThatCountThemselvesUpAreSlowedDown,
		"a child that somebody keeps changing slows its parent down alone": aChildThatSomebodyKeepsChangingSlowsItsParentDownAlone,
		"a version that is served no more costs no child":                  aVersionThatIsServedNoMoreCostsNoChild,
		"children of a young definition that is deleted do not stay":       childrenOfAYoungDefinitionThatIsDeletedDoNotStay,
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			s := newScope(t)
			test(s, op.of(s))
		})
	}
}
