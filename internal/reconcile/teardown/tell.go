package teardown

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/census"
)

// SkipAdvice is the way out.
const SkipAdvice = "annotate the object with " + v1.AnnotationSkipFinalize + ": \"true\" to have it go at once"

// WithoutRest says that a parent goes though not all is done.
const WithoutRest = "being deleted for longer than spec.finalize.timeout: goes without what is not done by now"

// Await reports whether the objects of spec.finalize.children, of which c is the census, are as they should be. current is whether they are as
// their templates say now, and problems are those that came up. If something is missing, it returns what is to be told instead of these.
func Await(c census.Census, problems problem.List, current bool) (ready bool, told problem.List) {
	if len(problems) == 0 && c.Ready == c.Wanted && current {
		return true, nil
	}
	if issue := problems.First(); issue != nil && !issue.Waiting {
		return false, problems
	}
	text := c.Progress()
	switch {
	case len(c.Failing) > 0:
		text = c.Failure()
	case len(problems) > 0:
		text = problems.Message()
	}
	return false, problem.List{{
		Reason: v1.ReasonFinalizing, Waiting: len(c.Failing) == 0, Retry: problems.Retry(), Pending: problems.Pending(),
		Message: "being deleted: waits for spec.finalize.children: " + text,
	}}
}

// Overdue is told instead of problems once spec.finalize.timeout is over, where the parent stays all the same.
func Overdue(problems problem.List) problem.List {
	return problem.List{{
		Reason: v1.ReasonFinalizeTimeout, Retry: problems.Retry(), Pending: problems.Pending(),
		Message: problems.Message() + "; this takes longer than spec.finalize.timeout: mend what it waits for, or " + SkipAdvice,
	}}
}
