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
func (p *pass) noteCorrection(a plan.Action) {
	if a.Drift != "" {
		p.done.corrected = append(p.done.corrected, a.Wanted.ID().String()+" "+p.Author().Path(a.Drift, a.Wanted.Content))
	}
}

// recordDone publishes Normal Events, one per kind of change. It publishes none if a loop is suspected: the ready condition and a Warning
// report that.
func (p *pass) recordDone() {
	if p.rewrites != nil {
		return
	}
	p.record(v1.ReasonSuccessfulDelete, "pruned because no template yields it: ", p.done.pruned)
	p.record(v1.ReasonSuccessfulDelete, "deleted to be recreated: ", p.done.recreated)
	p.record(v1.ReasonDriftCorrected, "reverted changes by another client: ", p.done.corrected)
}

func (p *pass) record(reason, text string, all []string) {
	if len(all) == 0 {
		return
	}
	p.r.events.Announce(p.As, p.key, request.Announcement{About: p.parent, Type: corev1.EventTypeNormal, Reason: reason, Message: text + problem.Join(all)})
}
