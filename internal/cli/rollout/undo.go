package rollout

import (
	"context"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/revision"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Undo replaces the part of the spec that a revision consists of by the revision with a number; 0 means the newest one that differs from the spec.
// A dry run changes nothing.
func (r *Rollout) Undo(ctx context.Context, number int64, dryRun bool) error {
	return r.change(ctx, func(now *live) error {
		all, err := r.revisions(ctx, now)
		if err != nil {
			return err
		}
		id := revision.IDOf(&now.Spec)
		to, err := r.target(all, id, number)
		if err != nil {
			return err
		}
		if to.id == id {
			r.done("skipped rollback (the spec already matches revision %d)", to.number)
			return nil
		}
		if err := r.restore(ctx, now, to, dryRun); err != nil {
			return err
		}
		r.warn(now, "use git revert instead")
		if dryRun {
			r.done("rolled back to revision %d (server dry run)", to.number)
			return nil
		}
		r.done("rolled back to revision %d", to.number)
		if rollout := now.Spec.Rollout; rollout != nil && rollout.Approval == v1.ApprovalRequired && rollout.ApprovedRevision != to.id {
			r.done("needs approval: %s", r.hint("approve"))
		} else if rollout != nil && rollout.Paused {
			r.done("is paused: %s", r.hint("resume"))
		}
		return nil
	})
}

// target returns the revision to restore, for a spec with that ID.
func (r *Rollout) target(all []stored, id string, number int64) (*stored, error) {
	if number != 0 {
		return r.numbered(all, number)
	}
	for _, s := range slices.Backward(all) {
		if s.id != id { // the newest one, if the spec was rejected: then it is no revision
			return &s, nil
		}
	}
	return nil, failure("no rollout history found for %s: there is no earlier revision", r.title())
}

// restore writes a revision if the object is still the same. It does not write a spec that would be rejected.
func (r *Rollout) restore(ctx context.Context, now *live, to *stored, dryRun bool) error {
	if _, rejection := spec.Compile(r.Key, revision.Merge(&now.Spec, to.spec)); rejection != nil {
		return failure("revision %d does not fit the other fields of the spec: %s", to.number, rejection.Message)
	}
	content, err := contentOf(to.spec)
	if err != nil {
		return err
	}
	next := now.raw.DeepCopy()
	next.SetManagedFields(nil) // the server keeps them
	fields, _ := next.Object["spec"].(map[string]any)
	replace(fields, content)
	return r.written(r.Client.Update(ctx, r.at(), next, request.Update{Manager: fieldManager, DryRun: dryRun}))
}

// replace replaces the revision in a spec. Related objects that the revision does not have lose their select template.
func replace(live, content map[string]any) {
	for _, field := range []string{"children", "finalize", "status", "values", "helpers", "delimiters"} {
		delete(live, field)
		if value, ok := content[field]; ok {
			live[field] = value
		}
	}
	selects := map[any]any{}
	for _, related := range items(content["related"]) {
		selects[related["name"]] = related["select"]
	}
	for _, related := range items(live["related"]) {
		delete(related, "select")
		if template, ok := selects[related["name"]]; ok {
			related["select"] = template
		}
	}
}
