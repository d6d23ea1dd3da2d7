package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/operator/controllers/quota"
	"github.com/templater-dev/templater/internal/operator/controllers/revisions"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/revision"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// definition is a compiled revision, with the live part of a spec.
type definition struct {
	id       string // "" if the spec is rejected, or there are no revisions
	spec     *v1.TemplateControllerSpec
	compiled *spec.Compiled
	// live is the live part of a rejected spec, of which spec is only an outline; nil if spec is complete, or the live part is too large to keep.
	live  *v1.TemplateControllerSpec
	bytes int // spec.Size of spec; 0 for the newest
}

// revised has the revisions of a TemplateController. Only its sync uses it.
type revised struct {
	newest definition // of the latest spec
	// outlined is true if newest.spec is only an outline.
	outlined bool
	known    map[string]*definition // the earlier ones that are needed, by ID; at most two after revise
	// latest are the revisions that exist; located is false if that is not known.
	latest  revisions.Latest
	located bool
	// stored is the TemplateRevision of latest.Update, once it was read.
	stored *revisions.Revision
	// missing are IDs of revisions that do not exist, and when to look for them again.
	missing map[string]time.Time
	// trial is the dry run of newest; nil = none was needed. trialKinds are child kinds that only newest needs. The lock of the registry guards
	// both.
	trial      *trial
	trialKinds map[schema.GroupKind]bool
	// readySince is for revision.Progress.
	readySince time.Time
}

// chosen is the result of the revise step.
type chosen struct {
	running definition
	base    *definition // of the parents that are not admitted; nil = all have running, or it is lost
	rollout *controller.Rollout
	lost    bool            // a revision that some parents have is not known
	refused *spec.Rejection // why the latest spec is rejected, while an earlier revision runs
}

// revise decides which revision runs: that of the latest spec once it is admitted, and until then the previous one. It reads TemplateRevisions
// only if not all parents have the revision of the latest spec.
func (l *syncRun) revise(ctx context.Context) (done bool, err error) {
	r := &l.entry.revised
	if err := l.locate(ctx); err != nil {
		return true, err
	}
	c, update := chosen{running: r.newest}, r.latest.Update
	if r.located && !tooMany(l.entry.rejection) && (l.tc.DeletionTimestamp == nil || r.newest.id == "") && update != "" && (update != r.newest.id || !r.latest.Complete()) {
		if c, err = l.choose(ctx); err != nil {
			return true, err
		}
	}
	l.choice = c
	r.forgetOthers()
	l.c.memory.Hold(l.name, r.held(c))
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	e := l.entry
	if c.running.id != "" && e.rejection != nil {
		l.choice.refused = e.rejection
	}
	if e.compiled != c.running.compiled {
		e.compiled, e.spec = c.running.compiled, c.running.spec
		l.c.renewIndexes(l.name, e)
	}
	l.tc.Spec = *c.running.spec
	return false, nil
}

// locate finds out which revisions there are, once this operator serves the TemplateController.
func (l *syncRun) locate(ctx context.Context) error {
	r := &l.entry.revised
	if r.located = r.located && !l.entry.since.IsZero(); r.located || l.c.revisions == nil || l.c.standby.Load() {
		return nil
	}
	latest, err := l.c.revisions.Latest(ctx, l.tc.UID)
	if apierrors.IsNotFound(err) { // their CustomResourceDefinition does not exist, so there are none; admit reports that
		r.latest = revisions.Latest{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v1.Describe(l.name), err)
	}
	// The status is written after the TemplateRevision, so it has the newest revision, an earlier one, or one that was deleted. Without any
	// TemplateRevision, it is that of another TemplateController, which was restored from a backup, unless it shows a rollout.
	if s := l.tc.Status; s.UpdateRevision != "" && s.UpdateRevision != latest.Update && (latest.Update != "" || s.CurrentRevision != s.UpdateRevision) {
		switch _, err := l.c.revisions.Get(ctx, l.tc, s.UpdateRevision); {
		case errors.Is(err, revisions.ErrMissing):
			latest = revisions.Latest{Update: s.UpdateRevision, Current: s.UpdateRevision, Number: latest.Number, Lost: true}
		case err != nil:
			return err
		}
	}
	r.latest, r.located, r.stored = latest, true, nil
	return nil
}

// mostLive is the maximum size of the live part of a rejected spec as JSON, in bytes.
const mostLive = 64 << 10

// live returns the live part of the latest spec, unless there are no revisions, or it is too large.
func (l *syncRun) live() *v1.TemplateControllerSpec {
	if l.c.revisions == nil {
		return nil
	}
	live := revision.Live(&l.tc.Spec)
	if text, err := json.Marshal(live); err != nil || len(text) > mostLive {
		return nil
	}
	return live
}

// choose is revise while some parents have an earlier revision.
func (l *syncRun) choose(ctx context.Context) (chosen, error) {
	r := &l.entry.revised
	live, c := r.newest.spec, chosen{running: r.newest}
	if r.outlined {
		if live = r.newest.live; live == nil { // nothing may run with only a part of the spec
			c.lost = true
			return c, nil
		}
	}
	ran, err := l.defined(ctx, r.latest.Update, live)
	switch {
	case err != nil:
		return c, err
	case ran != nil:
		c.running = *ran
	default: // nothing is known of the revision that all parents have
		c.lost = true
		if r.newest.id != "" {
			c.rollout = &controller.Rollout{}
		}
		return c, nil
	}
	if r.latest.Complete() {
		return c, nil
	}
	c.rollout = &controller.Rollout{}
	if err := l.readStored(ctx); err != nil || r.stored == nil || r.stored.Rollout == nil {
		c.lost = true
		return c, err
	}
	if c.rollout.Selected, c.rollout.Superseded, err = selectedBy(*r.stored.Rollout); err != nil {
		return c, err
	}
	c.base, err = l.defined(ctx, r.stored.Rollout.From, live)
	c.lost = c.base == nil
	return c, err
}

// selectedBy parses the selections in the state of a rollout.
func selectedBy(state v1.RolloutState) (admitted, superseded revision.Selection, err error) {
	if admitted, err = revision.SelectedBy(state.From, state.Selected); err == nil && state.Superseded != nil {
		superseded, err = revision.SelectedBy(state.From, *state.Superseded)
	}
	if err != nil {
		return admitted, superseded, fmt.Errorf("the state of the rollout: %w", err)
	}
	return admitted, superseded, nil
}

// readStored reads the TemplateRevision with the state of the rollout, once. It remains nil if there is none.
func (l *syncRun) readStored(ctx context.Context) (err error) {
	r := &l.entry.revised
	r.stored, err = l.fetch(ctx, r.latest.Update)
	return err
}

// fetch reads a TemplateRevision. It returns nil if there is none, and looks for it again only after problem.SlowRetry.
func (l *syncRun) fetch(ctx context.Context, id string) (*revisions.Revision, error) {
	r := &l.entry.revised
	if r.stored != nil && r.stored.ID == id {
		return r.stored, nil
	}
	if left := r.missing[id].Sub(l.c.clock.Now()); left > 0 {
		l.c.queue.AddAfter(l.name, left)
		return nil, nil //nolint:nilnil // see above
	}
	stored, err := l.c.revisions.Get(ctx, l.tc, id)
	if !errors.Is(err, revisions.ErrMissing) {
		delete(r.missing, id)
		if err == nil && r.latest.Lost && id == r.latest.Update { // it was restored
			r.latest = stored.Latest()
		}
		return stored, err
	}
	if r.missing == nil {
		r.missing = map[string]time.Time{}
	}
	r.missing[id] = l.c.clock.Now().Add(problem.SlowRetry)
	l.c.queue.AddAfter(l.name, problem.SlowRetry)
	return nil, nil //nolint:nilnil // see above
}

// defined returns a revision with the live part of a spec. It returns nil if the revision is not known, or invalid with this part.
func (l *syncRun) defined(ctx context.Context, id string, live *v1.TemplateControllerSpec) (*definition, error) {
	r := &l.entry.revised
	if id == r.newest.id {
		return &r.newest, nil
	}
	known := r.known[id]
	if known == nil {
		stored, err := l.fetch(ctx, id)
		if err != nil || stored == nil {
			return nil, err
		}
		known = &definition{id: id, spec: stored.Spec}
	} else if reflect.DeepEqual(revision.Live(known.spec), revision.Live(live)) {
		return known.valid(), nil
	}
	merged := revision.Merge(live, known.spec)
	pause := queue.WorkerOf(ctx).Pauses()
	compiled, rejection, _ := spec.CompileWith(pause, l.name, merged)
	if pause != nil {
		if err := pause(); err != nil { // the result is undefined
			return nil, fmt.Errorf("compile a revision of %s: %w", v1.Describe(l.name), err)
		}
	}
	if rejection != nil || l.c.checks.accounts && spec.CheckAccount(merged) != nil {
		compiled = nil
	}
	known = &definition{id: id, spec: merged, compiled: compiled}
	r.remember(known)
	return known.valid(), nil
}

// valid returns d, or nil if it does not compile.
func (d *definition) valid() *definition {
	if d.compiled == nil {
		return nil
	}
	return d
}

// remember keeps a compiled revision.
func (r *revised) remember(d *definition) {
	if r.known == nil {
		r.known = map[string]*definition{}
	}
	d.bytes = spec.Size(d.spec)
	r.known[d.id] = d
}

// forgetOthers drops the compiled revisions that no longer run.
func (r *revised) forgetOthers() {
	maps.DeleteFunc(r.known, func(id string, _ *definition) bool {
		return id == r.newest.id || id != r.latest.Update && id != r.latest.Current
	})
	maps.DeleteFunc(r.missing, func(id string, _ time.Time) bool { return id != r.latest.Update && id != r.latest.Current })
}

// held returns the memory of the revisions that run besides that of the latest spec.
func (r *revised) held(c chosen) (held quota.Held) {
	if d := r.known[c.running.id]; d != nil && d.id != r.newest.id {
		held.Running = d.bytes
	}
	if c.base != nil && c.base.id != c.running.id && c.base.id != r.newest.id {
		held.Base = c.base.bytes
	}
	return held
}

// progressing returns the Progressing condition.
func progressing(reason, message string) *metav1.Condition {
	c := &metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	switch reason {
	case v1.ReasonPreflightFailed, v1.ReasonRolloutHalted, v1.ReasonRevisionNotFound, v1.ReasonRevisionNotStored, v1.ReasonRevisionsDisabled:
		c.Status = metav1.ConditionFalse
	case v1.ReasonApprovalRequired, v1.ReasonRolloutPaused:
		c.Status = metav1.ConditionUnknown
	}
	return c
}
