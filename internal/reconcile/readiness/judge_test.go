package readiness

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestReadyWhenOverridesReadiness(t *testing.T) {
	const job = `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}`
	fault := &problem.Problem{Message: "no"}
	for why, row := range map[string]struct {
		text       string
		ready, has bool
		fault      *problem.Problem
		state      State
		words      string
	}{
		"the rule says that it is":                     {job + `}`, true, true, nil, Ready, ""},
		"the rule says that it is, though it failed":   {job + `, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}`, true, true, nil, Ready, ""},
		"the rule says that it is not":                 {job + `, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}`, false, true, nil, InProgress, "readyWhen is not true yet"},
		"it is not by the rule, and says why":          {job + `, "status": {"startTime": "x"}}`, false, true, nil, InProgress, "readyWhen is not true yet: running, 0 of 1 Pods have succeeded"},
		"it is not by the rule, and it failed":         {job + `, "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}}`, false, true, nil, Failed, "failed (DeadlineExceeded)"},
		"the rule cannot tell":                         {job + `}`, true, true, fault, InProgress, "its readyWhen cannot be evaluated"},
		"it is going, whatever the rule says":          {`{"kind": "Job", "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}`, true, true, nil, InProgress, "being deleted"},
		"there is no rule, and it has work left to do": {job + `}`, false, false, nil, InProgress, "not started yet"},
		"there is no rule, and it is done":             {job + `, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}`, false, false, nil, Ready, ""},
	} {
		o, err := object.From(parse(t, row.text))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		j := newJudge(func(string, *object.Object) (bool, bool, *problem.Problem) {
			calls++
			return row.ready, row.has, row.fault
		})
		if state, words := j.Of("jobs", o), j.Why("jobs", o); state != row.state || words != row.words {
			t.Errorf("%s: got %v, %q, want %v, %q", why, state, words, row.state, row.words)
		}
		if row.has && calls > 1 {
			t.Errorf("%s: the rule was asked %d times", why, calls)
		}
		if got := len(j.Faults()); (got == 1) != (row.fault != nil) || got > 1 {
			t.Errorf("%s: %d faults", why, got)
		}
	}
}

func TestReadyWhenFaultIsReportedOnce(t *testing.T) {
	j := newJudge(func(string, *object.Object) (bool, bool, *problem.Problem) {
		return false, true, &problem.Problem{Message: "children[a].readyWhen:1:1: no"}
	})
	for range 3 {
		o, err := object.From(parse(t, `{"kind": "A", "metadata": {"name": "a"}}`))
		if err != nil {
			t.Fatal(err)
		}
		j.Of("a", o)
	}
	if len(j.Faults()) != 1 {
		t.Errorf("%d faults, want 1", len(j.Faults()))
	}
}

func TestJudgeWithoutReadyWhenUsesDefaultReadiness(t *testing.T) {
	o, err := object.From(parse(t, `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var j *Judge
	if j.Of("a", o) != InProgress || j.Why("a", o) != "not started yet" || j.Faults() != nil {
		t.Error("a judge without a rule says something else than the object")
	}
}
