package reconcile

import (
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestTimeLeftUntilTimeout(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	for why, row := range map[string]struct{ since, want time.Duration }{
		"it has just begun":        {0, time.Hour},
		"a part has passed":        {20 * time.Minute, 40 * time.Minute},
		"all has passed":           {time.Hour, 0},
		"more has passed":          {2 * time.Hour, 0},
		"the clock was set back":   {-time.Minute, time.Hour},
		"it was set back by years": {-100_000 * time.Hour, time.Hour},
	} {
		t.Run(why, func(t *testing.T) {
			if got := timeLeft(time.Hour, now.Add(-row.since), now); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestAnsweredByReason(t *testing.T) {
	for reason, want := range map[string]bool{
		v1.ReasonChildRejected: true, v1.ReasonChildConflict: true, v1.ReasonChildFailing: true, v1.ReasonFinalizing: true, v1.ReasonNamespaceTerminating: true, v1.ReasonNamespaceNotFound: true,
		v1.ReasonChildForbidden: false, v1.ReasonForbidden: false, v1.ReasonChildRequestFailed: false, v1.ReasonTemplateError: false, v1.ReasonTemplateFailed: false,
		v1.ReasonInvalidChild: false, v1.ReasonChildKindNotFound: false, v1.ReasonRelatedUnreadable: false, v1.ReasonFinalizerRejected: false, v1.ReasonInternalError: false,
	} {
		t.Run(reason, func(t *testing.T) {
			all := problem.List{{Reason: v1.ReasonProgressing, Waiting: true}, {Reason: reason}}
			if got := all.Answered(); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
