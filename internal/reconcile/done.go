package reconcile

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// done describes changes of children that no condition shows afterwards.
type done struct{ pruned, recreated, corrected []string }

// deleted records that the server accepted the deletion of a child.
func (d *done) deleted(l *child.Live) {
	if l.Wanted != nil {
		d.recreated = append(d.recreated, l.ID().String())
	} else {
		d.pruned = append(d.pruned, l.ID().String())
	}
}

// noteCorrection records that a field that somebody else changed was restored.
func (rec *reconciliation) noteCorrection(a plan.Action) {
	if a.Drift != "" {
		rec.done.corrected = append(rec.done.corrected, a.Wanted.ID().String()+" "+rec.Author().Path(a.Drift, a.Wanted.Content))
	}
}

// recordDone publishes Normal Events, one per kind of change. It publishes none if a loop is suspected: the ready condition and a Warning
// report that.
func (rec *reconciliation) recordDone() {
	if rec.rewrites != nil {
		return
	}
	rec.record(v1.ReasonSuccessfulDelete, "pruned because no template yields it: ", rec.done.pruned)
	rec.record(v1.ReasonSuccessfulDelete, "deleted to be recreated: ", rec.done.recreated)
	rec.record(v1.ReasonDriftCorrected, "reverted changes by another client: ", rec.done.corrected)
}

func (rec *reconciliation) record(reason, text string, all []string) {
	if len(all) == 0 {
		return
	}
	rec.r.Events.Announce(rec.As, rec.key, request.Announcement{About: rec.parent, Type: corev1.EventTypeNormal, Reason: reason, Message: text + problem.Join(all)})
}
