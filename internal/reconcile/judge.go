package reconcile

import (
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/view"
)

// judgeFaults returns why readyWhen could not be evaluated. Where it is not known what the templates see, that is reported already.
func (p *pass) judgeFaults(judge *readiness.Judge) problem.List {
	if p.blind {
		return nil
	}
	return judge.Faults()
}

// judge returns what tells whether children are ready. The readyWhen of their entries see these as what is there. It is
// one judge until the pass has changed something.
func (p *pass) judge(observed []*child.Live) *readiness.Judge {
	if p.judged == nil && p.Program.JudgesReadiness() {
		p.judged = view.Judge(p.Program, p.input(observed))
		p.reported.assume(p.judged, observed)
	}
	return p.judged
}
