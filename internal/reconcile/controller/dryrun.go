package controller

import (
	"maps"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// dryRun has the children that result from the dry runs of one reconciliation. No cache contains them.
type dryRun struct{ written map[child.ID]written }

type written struct {
	kind  kind.Kind
	after *object.Object
}

// ForDryRun returns a copy of the controller for one dry run of the reconciliation of one parent. client sends the writes as dry runs. The
// reconciliation changes no cache, no metric and no selection of related objects, and sends no access reviews. The copy has no filter: the
// caller knows that the object is a parent. As nothing is created, kinds of children that are watched but not recorded yet count as recorded.
func (c *Controller) ForDryRun(client Client) *Controller {
	next, factory := *c, *c.Factory
	next.Cluster, next.Rights, next.Meter, next.Filter = client, c.Rights.WithoutReviews(), record.Discard{}, nil
	next.Sources, next.Related = maps.Clone(c.Sources), nil
	for gk, s := range next.Sources {
		s.Unrecorded = false
		next.Sources[gk] = s
	}
	for _, e := range c.Related {
		own := *e
		own.Index = related.NewIndex(nil, "")
		next.Related = append(next.Related, &own)
	}
	next.dry = &dryRun{map[child.ID]written{}}
	factory.Cluster, next.Factory = &next, &factory
	return &next
}

// keep records the result of a dry run.
func (d *dryRun) keep(after *object.Object, kind kind.Kind) {
	d.written[child.ID{Kind: kind.GroupKind(), Name: after.Key()}] = written{kind, after}
}

// over returns the children after the dry runs, given those in the caches. own returns nil for an object that is not a child of the parent.
func (d *dryRun) over(cached []*child.Live, own func(kind.Kind, *object.Object) *child.Live) []*child.Live {
	out := make([]*child.Live, 0, len(cached)+len(d.written))
	for _, l := range cached {
		if _, again := d.written[l.ID()]; !again {
			out = append(out, l)
		}
	}
	for _, w := range d.written {
		if l := own(w.kind, w.after); l != nil {
			out = append(out, l)
		}
	}
	return child.Sort(out)
}
