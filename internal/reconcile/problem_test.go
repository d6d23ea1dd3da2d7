package reconcile

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestWhichProblemIsShown(t *testing.T) {
	waits, one, two := &Problem{Waiting: true}, &Problem{Reason: v1.ReasonTemplateFailed}, &Problem{Reason: v1.ReasonTemplateError}
	for why, row := range map[string]struct {
		all    problems
		first  *Problem
		failed bool // whether a template has
	}{
		"there is none":              {nil, nil, false},
		"something is still to come": {problems{waits}, waits, false},
		"the first fault":            {problems{waits, one, two}, one, true},
		"another sort of fault":      {problems{two, waits}, two, true},
		"no template's":              {problems{{Reason: v1.ReasonChildRejected}, waits}, nil, false},
	} {
		if got := row.all.first(); row.first != nil && got != row.first || len(row.all) == 0 && got != nil {
			t.Errorf("%s: %+v is shown, want %+v", why, got, row.first)
		}
		if got := row.all.templateFailed(); got != row.failed {
			t.Errorf("%s: a template has failed: %v, want %v", why, got, row.failed)
		}
	}
}

func TestWhatWaitsIsNotToldBesideAFault(t *testing.T) {
	fault, waiting := &Problem{Reason: "A", Message: "fault"}, &Problem{Reason: "B", Message: "waiting", Waiting: true}
	for want, all := range map[string]problems{"fault": {waiting, fault}, "waiting": {waiting}} {
		if got := all.message(); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		p := &pass{problems: all}
		if got := p.failed(); got != (want == "fault") {
			t.Errorf("%s: failed is %v", want, got)
		}
	}
}
