package rollout

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/templater-dev/templater/api/v1"
)

// fieldManager is the field manager of all writes.
const fieldManager = "templater-rollout"

// patch changes fields of spec.rollout if the object is still the same; nil removes a field.
func (r *Rollout) patch(ctx context.Context, now *live, rollout map[string]any) error {
	err := r.Client.Merge(ctx, r.at(), map[string]any{
		"metadata": map[string]any{"resourceVersion": now.ResourceVersion}, "spec": map[string]any{"rollout": rollout},
	}, fieldManager)
	return r.written(err)
}

// SetPaused sets or removes spec.rollout.paused.
func (r *Rollout) SetPaused(ctx context.Context, paused bool) error {
	value, result, already := any(true), "paused", "already paused"
	if !paused {
		value, result, already = nil, "resumed", "not paused"
	}
	return r.change(ctx, func(now *live) error {
		if is := now.Spec.Rollout != nil && now.Spec.Rollout.Paused; is == paused {
			return failure("%s is %s", r.title(), already)
		}
		if err := r.patch(ctx, now, map[string]any{"paused": value}); err != nil {
			return err
		}
		r.warn(now, "commit spec.rollout.paused instead")
		r.done("%s", result)
		return nil
	})
}

// Approve approves status.updateRevision. id is the revision that the user means; "" means any.
func (r *Rollout) Approve(ctx context.Context, id string) error {
	var shown string // the revision whose preview was printed
	return r.change(ctx, func(now *live) error {
		if err := r.approvable(now, id); err != nil {
			return err
		}
		update := now.Status.UpdateRevision
		if update != shown {
			r.preview(update, now.Status.Preview)
			shown = update
		}
		if err := r.patch(ctx, now, map[string]any{"approvedRevision": update}); err != nil {
			return err
		}
		r.warn(now, "commit spec.rollout.approvedRevision instead")
		r.done("approved")
		return nil
	})
}

// approvable returns why there is nothing to approve, or nil.
func (r *Rollout) approvable(now *live, id string) error {
	update, rollout := now.Status.UpdateRevision, now.Spec.Rollout
	s := r.state(now, "")
	switch {
	case rollout == nil || rollout.Approval != v1.ApprovalRequired:
		return failure("%s needs no approval: spec.rollout.approval is not Required", r.title())
	case now.Status.ObservedGeneration < now.Generation:
		return failure("templater has not processed the newest spec of %s yet: try again", r.title())
	case s.failed:
		return failure("nothing to approve: %s", s.message)
	case id != "" && id != update:
		return failure("revision %s of %s does not wait for approval: status.updateRevision is %q", id, r.title(), update)
	case update == now.Status.CurrentRevision:
		return failure("nothing to approve: no revision of %s waits for approval", r.title())
	case rollout.ApprovedRevision == update:
		return failure("revision %s of %s is already approved", update, r.title())
	}
	return nil
}

// preview prints what a revision would change.
func (r *Rollout) preview(update string, p *v1.RolloutPreview) {
	if p == nil || p.Revision != update {
		fmt.Fprintf(r.Out, "Revision %s: there is no preview yet\n", update)
		return
	}
	fmt.Fprintf(r.Out, "Revision %s, for %d of %d parents, %s ago:\n", update, p.Parents, p.Total, duration.HumanDuration(r.Now().Sub(p.Time.Time)))
	fmt.Fprintf(r.Out, "  create: %d, update: %d, recreate: %d, delete: %d, failing parents: %d\n", p.Create, p.Update, p.Recreate, p.Delete, p.Failing)
	for _, example := range p.Examples {
		fmt.Fprintf(r.Out, "  for example: %s\n", example)
	}
}
