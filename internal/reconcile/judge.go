package reconcile

import (
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/view"
)

// judge returns what tells whether children are ready. The readyWhen of their entries see these as what is there. It is
// one judge until the pass has changed something.
func (p *pass) judge(observed []*child.Live) *readiness.Judge {
	if p.judged == nil && p.Program.JudgesReadiness() {
		p.judged = view.Judge(p.Program, p.input(observed))
	}
	return p.judged
}
