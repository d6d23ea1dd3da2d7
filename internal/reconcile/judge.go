package reconcile

import (
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/view"
)

// judgeFaults returns why readyWhen could not be evaluated. Where it is not known what the templates see, that is reported already.
func (rec *reconciliation) judgeFaults(judge *readiness.Judge) problem.List {
	if rec.blind {
		return nil
	}
	return judge.Faults()
}

// judge returns what tells whether children are ready. The readyWhen of their entries see these as what is there. It is
// one judge until the pass has changed something.
func (rec *reconciliation) judge(observed []*child.Live) *readiness.Judge {
	if rec.judged == nil && rec.Program.JudgesReadiness() {
		rec.judged = view.Judge(rec.Program, rec.input(observed))
		rec.reported.assume(rec.judged, observed)
	}
	return rec.judged
}
