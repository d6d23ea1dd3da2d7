package typed

import (
	"slices"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// facts are what is known of optional steps at a place in a template.
type facts struct {
	has, lacks []string // steps that exist, and steps that can be missing although they are tested elsewhere
	met        []string // optional steps that the pipeline of a range reads
}

// mostSteps is the maximum number of steps in each list of facts. Further ones are ignored.
const mostSteps = 200

// add appends steps up to the limit.
func add(to, steps []string) []string {
	return append(to, steps[:min(len(steps), mostSteps-len(to))]...)
}

// learn adds what the result of a condition means, until it is removed by unlearn.
func (e *evaluator) learn(o types.Outcome) {
	e.has, e.lacks = add(e.has, o.Has), add(e.lacks, o.Lacks)
}

// assume is learn for the block below a condition: variables whose steps exist are not missing.
func (e *evaluator) assume(o types.Outcome) {
	e.learn(o)
	for i, known := range e.vars {
		if len(o.Has) > 0 && len(known.v.Optional) > 0 && !slices.ContainsFunc(known.v.Optional, func(step string) bool { return !slices.Contains(e.has, step) }) {
			e.vars[i].v = known.v.Present()
		}
	}
}

// unlearn resets the facts.
func (e *evaluator) unlearn(to facts) {
	e.has, e.lacks = e.has[:len(to.has)], e.lacks[:len(to.lacks)]
}

// fails reports whether a block always ends with an error.
func fails(l *parse.ListNode) bool {
	return l != nil && slices.ContainsFunc(l.Nodes, func(n parse.Node) bool {
		action, ok := n.(*parse.ActionNode)
		return ok && syntax.Ends(action.Pipe)
	})
}

// tested marks a result that is true if v is true.
func tested(result, v *types.Value) *types.Value {
	yes, no := v.Outcomes()
	result.Tests = &types.Tests{Yes: yes, No: no}
	return result
}

// negated marks a result that is true if v is false.
func negated(result, v *types.Value) *types.Value {
	yes, no := v.Outcomes()
	result.Tests = &types.Tests{Yes: no, No: yes}
	return result
}
