package model

import "slices"

// Staged is how the parents of a TemplateController get a new revision.
type Staged string

// The ways. A rollout is complete at the end of a round, unless its TemplateController is inactive.
const (
	AtOnce   Staged = ""
	InSteps  Staged = "steps"
	Canaries Staged = "canaries" // the labelled parents first
)

// none is the revision of a TemplateController that was never accepted.
var none Revision

// setController changes a TemplateController, which may run the new revision from now on.
func (w *World) setController(shape string, c Controller) {
	w.Controllers[shape] = c
	if !c.Broken && !c.Suspended && !c.Absent {
		w.mayRun(shape, c.Revision)
	}
}

// mayRun records that a TemplateController may run that revision, or an earlier one.
func (w *World) mayRun(shape string, r Revision) {
	if !slices.Contains(w.revisions[shape], r) {
		w.revisions[shape] = append(slices.Clip(w.revisions[shape]), r)
	}
}

// Settle records that every active TemplateController runs its newest revision, at the end of a round.
func (w *World) Settle() {
	for shape, c := range w.Controllers {
		if !c.Broken && !c.Suspended && !c.Absent {
			w.revisions[shape] = []Revision{c.Revision}
		}
	}
}

// Retry changes a TemplateController so that its halted rollout continues.
func (w *World) Retry(shape string) {
	c := w.Controllers[shape]
	c.Retry++
	w.Controllers[shape] = c
}

// Running returns the TemplateController with the revision that it runs. If its spec is rejected, that is the last accepted one. It stays
// Broken if there is none, or if the model cannot know whether the operator has seen a revision that was replaced quickly.
func (w *World) Running(shape string) Controller { return w.runningAs(shape, w.Controllers[shape]) }

// runningAs is Running for another content of the TemplateController.
func (w *World) runningAs(shape string, c Controller) Controller {
	if r := w.revisions[shape]; c.Broken && len(r) == 1 && r[0] != none {
		c.Revision, c.Broken = r[0], false
	}
	return c
}
