package revision

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Parent is the state of a parent in a rollout.
type Parent struct {
	Name   types.NamespacedName
	UID    types.UID
	Labels labels.Labels
	// Updated is true if the parent was reconciled with the revision that it should have. Ready and Failed are the result.
	Updated, Ready, Failed bool
}

// Progress is what the next decision about a rollout depends on.
type Progress struct {
	ID    string // of the revision
	Spec  v1.Rollout
	State v1.RolloutState
	// Parents are those that are reconciled: not suspended, and not being deleted.
	Parents []Parent
	Now     time.Time
	// ReadySince is when the parents of the current step became ready, as far as this process knows; zero = they are not.
	ReadySince time.Time
}

// Decision is the next state of a rollout.
type Decision struct {
	State v1.RolloutState
	// Changed is true if State must be stored before it takes effect.
	Changed bool
	// Done is true if all parents have the revision.
	Done bool
	// Reason and Message are for the Progressing condition.
	Reason, Message string
	// ReadySince is for the next Progress.
	ReadySince time.Time
	// After is when to decide again if nothing changes before; 0 = never.
	After time.Duration
}

// Begin returns the state of a rollout before its first step. from is the revision that all parents have, except for those in superseded.
func Begin(from string, rollout v1.Rollout, superseded *v1.ParentSelection) v1.RolloutState {
	return v1.RolloutState{From: from, Superseded: superseded, Retry: rollout.Retry}
}

// Supersede returns the parents that have a revision whose rollout is replaced, for Begin; nil = none.
func Supersede(state v1.RolloutState) *v1.ParentSelection {
	out := state.Selected
	if state.Superseded != nil {
		out = union(out, *state.Superseded)
	}
	if !out.All && out.Threshold == "" && len(out.Canaries) == 0 {
		return nil
	}
	return &out
}

// Next decides how a rollout continues. It is a pure function. The error means that the state is invalid.
func Next(p Progress) (Decision, error) {
	r, err := newRollout(p)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{State: p.State}
	switch {
	case p.State.Halted && (p.State.Retry == p.Spec.Retry || p.Spec.Paused):
		d.Reason, d.Message = v1.ReasonRolloutHalted, p.State.Message
		return d, nil
	case p.State.Halted:
		d.State.Halted, d.State.Message, d.State.Retry = false, "", p.Spec.Retry
		r.begin(&d, p.State.Step) // the same step again
		return d, nil
	case p.State.Step == 0 && p.Spec.Approval == v1.ApprovalRequired && p.Spec.ApprovedRevision != p.ID:
		d.Reason, d.Message = v1.ReasonApprovalRequired, fmt.Sprintf("no parent has the new revision yet: to approve it, set spec.rollout.approvedRevision to %s", p.ID)
		return d, nil
	case p.State.Step == 0 && p.Spec.Paused:
		d.Reason, d.Message = v1.ReasonRolloutPaused, "spec.rollout.paused is true: no parent has the new revision yet"
		return d, nil
	case p.State.Step == 0:
		r.begin(&d, 1)
		return d, nil
	}
	r.follow(&d)
	return d, nil
}

// rollout is a Progress with what its fields mean.
type rollout struct {
	Progress

	steps    []intstr.IntOrString
	admitted Selection
	canary   labels.Selector
}

func newRollout(p Progress) (*rollout, error) {
	admitted, err := SelectedBy(p.State.From, p.State.Selected)
	if err != nil {
		return nil, fmt.Errorf("the state of the rollout: %w", err)
	}
	r := &rollout{Progress: p, admitted: admitted, steps: p.Spec.Steps}
	if r.canary, err = canaries(p.Spec.CanarySelector); err != nil {
		return nil, fmt.Errorf("spec.rollout.canarySelector: %w", err)
	}
	if len(r.steps) == 0 && p.Spec.CanarySelector != nil {
		r.steps = []intstr.IntOrString{allCanaries}
	}
	r.steps = append(slices.Clip(r.steps), intstr.FromString("100%"))
	if n := len(r.steps); n > 1 && r.steps[n-2] == r.steps[n-1] {
		r.steps = r.steps[:n-1]
	}
	return r, nil
}

// canaries parses a canary selector; {} selects nothing.
func canaries(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil || len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return labels.Nothing(), nil
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// allCanaries is the step with all canaries and no other parents.
var allCanaries = intstr.FromString("canaries")

// begin starts a step: its parents are admitted. No parent is ever excluded again.
func (r *rollout) begin(d *Decision, step int32) {
	d.Changed, d.State.Step, d.Reason = true, min(step, int32(len(r.steps))), v1.ReasonRollingOut //nolint:gosec // at most 21
	before := r.admitted
	d.State.Started = &metav1.Time{Time: r.Now.Truncate(time.Second)}
	if int(d.State.Step) == len(r.steps) {
		d.State.Selected = v1.ParentSelection{All: true}
	} else {
		d.State.Selected = r.selectUntil(r.steps[d.State.Step-1])
	}
	r.admitted, _ = SelectedBy(d.State.From, d.State.Selected) // as it was formatted
	for _, p := range r.Parents {
		if !p.Ready && r.admitted.Has(p.UID) && !before.Has(p.UID) {
			d.State.NotReady++
		}
	}
	d.Message = r.position(d.State) + "started"
}

// selectUntil adds the parents of a step to those that are admitted already: canaries first, and then in the order of their positions.
func (r *rollout) selectUntil(step intstr.IntOrString) v1.ParentSelection {
	out := r.State.Selected
	out.Canaries = slices.Clone(out.Canaries)
	var all []uint64 // the positions of parents that are neither admitted nor canaries
	var first []Parent
	admitted := 0
	for _, p := range r.Parents {
		switch {
		case r.admitted.Has(p.UID):
			admitted++
		case r.canary.Matches(p.Labels):
			first = append(first, p)
		default:
			all = append(all, position(r.State.From, p.UID))
		}
	}
	slices.SortFunc(first, func(a, b Parent) int {
		return cmp.Compare(position(r.State.From, a.UID), position(r.State.From, b.UID))
	})
	n := len(first)
	if step != allCanaries {
		size, _ := intstr.GetScaledValueFromIntOrPercent(&step, len(r.Parents), true) // it is valid
		n = max(0, min(size, len(r.Parents))-admitted)
	}
	for _, p := range first[:min(n, len(first), mostCanaries-len(out.Canaries))] {
		out.Canaries = append(out.Canaries, p.UID)
		n--
	}
	if n = min(n, len(all)); n > 0 && step != allCanaries {
		slices.Sort(all)
		out.Threshold = formatThreshold(all[n-1])
	}
	return out
}

// follow decides about the current step: whether it has failed, is complete, or the next one starts.
func (r *rollout) follow(d *Decision) {
	var total, updated, notReady, failed int64
	var failing []string
	for _, p := range r.Parents {
		if !r.admitted.Has(p.UID) {
			continue
		}
		total++
		if p.Updated {
			updated++
		}
		if !p.Updated || !p.Ready {
			notReady++
		}
		if p.Updated && p.Failed {
			failed++
			failing = append(failing, p.Name.String())
		}
	}
	more := max(0, failed-r.State.NotReady)
	ready := updated == total && max(0, notReady-r.State.NotReady) <= more
	timeout, _ := time.ParseDuration(r.Spec.ReadyTimeout)
	late := timeout > 0 && !ready && r.State.Started != nil && r.Now.Sub(r.State.Started.Time) >= timeout
	where := r.position(r.State)
	switch {
	case more > int64(r.Spec.MaxFailed):
		slices.Sort(failing)
		r.halt(d, fmt.Sprintf("%s%d of %d parents have failed, for example %s", where, failed, total, problem.Join(failing[:min(len(failing), problem.MaxListed)])))
	case late:
		r.halt(d, fmt.Sprintf("%s%d of %d parents are not ready after %s", where, notReady, total, r.Spec.ReadyTimeout))
	case !ready:
		d.Reason, d.Message = v1.ReasonRollingOut, fmt.Sprintf("%s%d of %d parents are updated, %d are ready", where, updated, total, total-notReady)
		if timeout > 0 && r.State.Started != nil {
			if r.State.Started.After(r.Now) { // a clock was wrong
				d.Changed, d.State.Started = true, &metav1.Time{Time: r.Now.Truncate(time.Second)}
			}
			d.After = d.State.Started.Add(timeout).Sub(r.Now)
		}
	case r.State.Selected.All:
		d.Done, d.Reason, d.Message = true, v1.ReasonRolloutComplete, "all parents have the revision"
	case r.Spec.Paused:
		d.Reason, d.Message, d.ReadySince = v1.ReasonRolloutPaused, where+"spec.rollout.paused is true", r.ReadySince
	default:
		r.wait(d, where)
	}
}

// wait starts the next step after the interval.
func (r *rollout) wait(d *Decision, where string) {
	if d.ReadySince = r.ReadySince; d.ReadySince.IsZero() {
		d.ReadySince = r.Now
	}
	interval, _ := time.ParseDuration(r.Spec.Interval)
	if d.After = d.ReadySince.Add(interval).Sub(r.Now); d.After <= 0 {
		d.After = 0
		r.begin(d, r.State.Step+1)
		return
	}
	d.Reason, d.Message = v1.ReasonRollingOut, fmt.Sprintf("%sits parents are ready; the next step starts after spec.rollout.interval", where)
}

// halt stops the rollout until spec.rollout.retry changes.
func (r *rollout) halt(d *Decision, message string) {
	d.Changed, d.Reason = true, v1.ReasonRolloutHalted
	d.State.Halted, d.State.Retry = true, r.Spec.Retry
	d.State.Message = message + "; no further parent gets the revision: correct the spec, or change spec.rollout.retry to try again"
	d.Message = d.State.Message
}

// position describes the current step, for the start of a message.
func (r *rollout) position(state v1.RolloutState) string {
	return fmt.Sprintf("step %d of %d: ", state.Step, len(r.steps))
}
