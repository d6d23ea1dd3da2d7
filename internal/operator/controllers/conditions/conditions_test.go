package conditions

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
	"github.com/templater-dev/templater/internal/render/finding"
)

func TestRejectionSetsReadyReason(t *testing.T) {
	for _, condition := range Of(Facts{Rejection: spec.Rejectf("Odd", "it is odd"), Running: &controller.Controller{}, Counts: status.NewCounts()}) {
		if condition.Type == v1.ConditionReady && (condition.Status != metav1.ConditionFalse || condition.Reason != "Odd" || condition.Message != "it is odd") {
			t.Errorf("ready condition %+v", condition)
		}
	}
}

func TestAdviceForUnservedWatchedKind(t *testing.T) {
	for why, row := range map[string]struct {
		err  error
		want string
	}{
		"it is not there":         {&kind.NotFoundError{}, ": install its"},
		"its server is away":      {&kind.NotFoundError{APIServiceUnavailable: true}, "; until it is served again"},
		"another version is":      {&kind.NotFoundError{Served: "v2"}, ": serve that version"},
		"nobody knows what it is": {errors.New("no answer"), ": serve that version"},
	} {
		if got := adviceFor(row.err); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: %q, want %q", why, got, row.want)
		}
	}
}

func TestSchemaWithoutConditions(t *testing.T) {
	full := kind.Kind{Custom: true, Status: &kind.StatusSchema{Conditions: "no room"}}
	got := writableCondition(Facts{Kind: full, Running: &controller.Controller{Definition: controller.Definition{ReadyCondition: "Ready"}}, Counts: status.NewCounts()})
	if got.Status != metav1.ConditionFalse || got.Reason != v1.ReasonNoConditions || got.Message != "the ready condition is not written: no room" {
		t.Errorf("condition %+v", got)
	}
	if got, want := writableCondition(Facts{Kind: full, Running: &controller.Controller{}, Counts: status.NewCounts()}), "no ready condition is configured: spec.status.readyCondition is empty"; got.Message != want {
		t.Errorf("condition %+v, want %q", got, want)
	}
}

func TestStatusWritableIsUnknownForUnknownKind(t *testing.T) {
	for why, f := range map[string]Facts{
		"the spec is rejected":     {Rejection: &spec.Rejection{}},
		"the kind cannot be found": {KindErr: errors.New("no answer")},
	} {
		f.Running, f.Counts = &controller.Controller{}, status.NewCounts()
		if got := writableCondition(f); got.Status != metav1.ConditionUnknown {
			t.Errorf("%s: %s, want Unknown", why, got.Status)
		}
	}
}

func TestLintedMessageShowsAtMostThreeWarnings(t *testing.T) {
	warning := func(line int, message string) finding.Finding {
		return finding.Finding{Code: "TL999", Severity: finding.Warning, Where: "children[pod]", Line: line, Column: 2, Message: message}
	}
	failure := finding.Finding{Severity: finding.Error, Where: "spec.watch", Message: "is wrong"}
	for name, row := range map[string]struct {
		all      []finding.Finding
		rejected bool
		want     string
	}{
		"nothing":                    {nil, false, "True NoWarnings: no warnings"},
		"errors are Accepted":        {[]finding.Finding{failure}, true, "Unknown NotAccepted: unknown until the spec is accepted"},
		"errors in spec.crd are not": {[]finding.Finding{failure}, false, "True NoWarnings: no warnings"},
		"one":                        {[]finding.Finding{failure, warning(1, "a")}, true, "False Warnings: 1 warning: children[pod]:1:2: a"},
		"three":                      {[]finding.Finding{warning(1, "a"), warning(2, "b"), warning(3, "c")}, false, "False Warnings: 3 warnings: children[pod]:1:2: a; children[pod]:2:2: b; children[pod]:3:2: c"},
		"more than three":            {[]finding.Finding{warning(1, "a"), warning(2, "b"), warning(3, "c"), warning(4, "d")}, false, "False Warnings: 4 warnings: children[pod]:1:2: a; children[pod]:2:2: b; children[pod]:3:2: c; and 1 more"},
	} {
		got := Linted(row.all, row.rejected)
		if text := string(got.Status) + " " + got.Reason + ": " + got.Message; got.Type != "Linted" || text != row.want {
			t.Errorf("%s: %s %q, want %q", name, got.Type, text, row.want)
		}
	}
}
