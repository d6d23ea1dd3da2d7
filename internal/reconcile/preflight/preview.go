package preflight

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// mostExamples is the maximum number of examples of a preview.
const mostExamples = 5

// Preview counts what a revision would change for these parents. It also counts changes that wait for other objects, but no deletions of a
// parent for which another write fails. Parents counts those that could be examined: their caches are synced, and the API server responded before
// ctx was done. The
// caller sets Revision and Total.
func (p *Planner) Preview(ctx context.Context, candidate *controller.Controller, parents []types.NamespacedName) v1.RolloutPreview {
	out := v1.RolloutPreview{Time: metav1.NewTime(p.Clock.Now())}
	for _, parent := range parents {
		if ctx.Err() != nil {
			break
		}
		a := p.DryRun(ctx, candidate, parent)
		unanswered := slices.ContainsFunc(a.Writes, func(w *Write) bool { return w.Outcome == Unanswered })
		if !a.Ran || unanswered || len(a.UnreadKinds) > 0 {
			continue
		}
		out.Parents++
		if a.failing() {
			out.Failing++
		}
		for _, c := range a.changes() {
			*map[Verb]*int64{Create: &out.Create, Update: &out.Update, Replace: &out.Recreate, Delete: &out.Delete}[c.verb]++
			if len(out.Examples) < mostExamples {
				out.Examples = append(out.Examples, string(c.verb)+" "+c.object+a.of())
			}
		}
	}
	return out
}

// change is a change of a child.
type change struct {
	verb   Verb
	object string
}

// changes returns the changes that the revision makes, each object once.
func (a *Attempt) changes() []change {
	var out []change
	desired := map[string]bool{}
	for _, w := range a.desired {
		desired[w.ID().String()] = true
		verb, _ := a.needs(w)
		if sent := a.writeOf(w); sent != nil && sent.Outcome != Conflict {
			verb = sent.Verb
			if verb == Delete {
				verb = Replace
			}
		}
		if verb != "" && verb != Mark {
			out = append(out, change{verb, w.ID().String()})
		}
	}
	for _, w := range a.Writes {
		if w.Verb == Delete && !desired[w.object()] {
			out = append(out, change{Delete, w.object()})
		}
	}
	return out
}

// failing reports whether the parent would fail. A missing Namespace that the templates create does not count.
func (a *Attempt) failing() bool {
	creates := map[string]bool{}
	for _, w := range a.desired {
		if w.Kind.Resource == controller.Namespaces {
			creates[w.Name.Name] = true
		}
	}
	for _, issue := range a.Problems {
		planned := issue.Reason == v1.ReasonNamespaceNotFound && creates[issue.Namespace]
		if !issue.Waiting && issue.Reason != v1.ReasonChildFailing && !planned {
			return true
		}
	}
	return false
}
