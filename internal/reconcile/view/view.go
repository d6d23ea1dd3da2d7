// Package view is what the templates of one parent see of objects. It decodes these when a template reads them, which the budget of
// the templates pays for. Pure.
package view

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
)

// Observed returns what templates see as .observed and .children, as [render.Input] has it.
func Observed(all []*child.Live, b *budget.Pass) func(entry string) ([]map[string]any, error) {
	return func(entry string) ([]map[string]any, error) {
		var out []map[string]any
		for _, l := range all {
			if l.Entry != entry {
				continue
			}
			if err := b.Spend(l.Object.ContentBytes()); err != nil {
				return nil, err
			}
			out = append(out, l.Object.Content())
		}
		return out, nil
	}
}

// Contents decodes objects.
func Contents(objects []*object.Object, b *budget.Pass) ([]map[string]any, error) {
	out := make([]map[string]any, 0, len(objects))
	for _, o := range objects {
		if err := b.Spend(o.ContentBytes()); err != nil {
			return nil, err
		}
		out = append(out, o.Content())
	}
	return out, nil
}

// Judge returns what tells whether children are ready, for one look at them: the readyWhen of their entries, which see in. It is nil where
// no entry has one.
func Judge(program *render.Program, in *render.Input) *readiness.Judge {
	if !program.JudgesReadiness() {
		return nil
	}
	return readiness.NewJudge(func(entry string, o *object.Object) (ready, has bool, fault *problem.Problem) {
		if !program.HasReadyWhen(entry) {
			return false, false, nil
		}
		ready, err := program.ReadyWhen(entry, func() (map[string]any, error) {
			if err := in.Budget.Spend(o.ContentBytes()); err != nil {
				return nil, err
			}
			return o.Content(), nil
		}, in)
		if err != nil {
			fault = problem.FromTemplate(err)
		}
		return ready, true, fault
	})
}
