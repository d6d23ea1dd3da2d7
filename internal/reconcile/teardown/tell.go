package teardown

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// SkipAdvice is the way out.
const SkipAdvice = "annotate the object with " + v1.AnnotationSkipFinalize + ": \"true\" to release it at once"

// WithoutRest says that a parent is released though not all is done.
const WithoutRest = "the cleanup took longer than spec.finalize.timeout: the object is released before its cleanup is done"

// Impossible says that an object of spec.finalize.children cannot be made. write names it as a Problem does.
func Impossible(write string) string {
	return "cannot " + write + ": its namespace is being deleted; the object is released without it"
}

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
		text = c.Failure() + "; correct that, or " + SkipAdvice
	case len(problems) > 0:
		text = problems.Message()
	}
	return false, problem.List{{
		Reason: v1.ReasonFinalizing, Waiting: len(c.Failing) == 0, Retry: problems.Retry(), Pending: problems.Pending(),
		Message: "being deleted: waits for spec.finalize.children: " + text,
	}}
}
