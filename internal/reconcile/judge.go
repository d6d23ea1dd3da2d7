package reconcile

import (
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// judge returns what tells whether children are ready. The readyWhen of their entries see these as what is there. It is
// one judge until the pass has changed something.
func (p *pass) judge(observed []*child.Live) *readiness.Judge {
	if p.judged != nil || !p.Program.JudgesReadiness() {
		return p.judged
	}
	in := p.input(observed)
	p.judged = readiness.NewJudge(func(entry string, o *object.Object) (ready, has bool, fault *problem.Problem) {
		if !p.Program.HasReadyWhen(entry) {
			return false, false, nil
		}
		ready, err := p.Program.ReadyWhen(entry, func() (map[string]any, error) {
			if err := p.budget.Spend(o.ContentBytes()); err != nil {
				return nil, err
			}
			return o.Content(), nil
		}, in)
		if err != nil {
			fault = problem.FromTemplate(err)
		}
		return ready, true, fault
	})
	return p.judged
}
