package reconcile

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

func TestTeardownVerdict(t *testing.T) {
	fault := &problem.Problem{Reason: v1.ReasonTemplateError, Message: "a fault", Retry: problem.RetryBackoff}
	wait := &problem.Problem{Reason: v1.ReasonWaiting, Message: "a wait", Waiting: true, Retry: problem.RetrySoon}
	const what = "being deleted: waiting for spec.finalize.children: "
	for why, row := range map[string]struct {
		childSummary status.ChildSummary
		problems     problem.List
		current      bool
		ready        bool
		want         string // REASON: message
		retry        problem.Retry
	}{
		"all is ready":                    {status.ChildSummary{Ready: 2, Wanted: 2}, nil, true, true, "", problem.RetryOnChange},
		"nothing is to be made":           {status.ChildSummary{}, nil, true, true, "", problem.RetryOnChange},
		"one is not":                      {status.ChildSummary{Ready: 1, Wanted: 2}, nil, true, false, "Finalizing: " + what + "1 of 2 children are ready", problem.RetryOnChange},
		"they are not as they are to be":  {status.ChildSummary{Ready: 2, Wanted: 2}, nil, false, false, "Finalizing: " + what + "2 of 2 children are ready", problem.RetryOnChange},
		"one waits for another":           {status.ChildSummary{Ready: 1, Wanted: 2}, problem.List{wait}, true, false, "Finalizing: " + what + "a wait", problem.RetrySoon},
		"something waits, though all are": {status.ChildSummary{Ready: 2, Wanted: 2}, problem.List{wait}, true, false, "Finalizing: " + what + "a wait", problem.RetrySoon},
		"a fault is told as it is":        {status.ChildSummary{Ready: 1, Wanted: 2}, problem.List{wait, fault}, true, false, "TemplateError: a fault", problem.RetrySoon},
	} {
		t.Run(why, func(t *testing.T) {
			ready, told := status.AwaitFinals(row.childSummary, row.problems, row.current)
			got := ""
			if issue := told.First(); issue != nil {
				got = issue.Reason + ": " + told.Message()
			}
			if ready != row.ready || got != row.want || told.Retry() != row.retry {
				t.Errorf("ready is %v, %q, retry %v; want %v, %q, retry %v", ready, got, told.Retry(), row.ready, row.want, row.retry)
			}
		})
	}
}
