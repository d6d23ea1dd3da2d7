package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// judge evaluates a readyWhen over an object.
func judge(t *testing.T, text string, in *Input, object func() (map[string]any, error)) (bool, error) {
	t.Helper()
	p, err := Compile(Source{
		Controller: "tc", Values: map[string]any{"phase": "Bound"}, Children: []syntax.Template{{Name: "db", Text: "a"}, {Name: "web", Text: "a"}},
		Helpers:   `{{ define "phase" }}{{ .object.status.phase }}{{ end }}`,
		ReadyWhen: []syntax.Template{{Name: "db", Text: text}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !p.JudgesReadiness() || !p.HasReadyWhen("db") || p.HasReadyWhen("web") {
		t.Error("it is not known which child has a readyWhen")
	}
	decodeJSON(t, []byte(testdata(t, "parent.json")), &in.Parent)
	return p.ReadyWhen("db", object, in)
}

func TestReadyWhen(t *testing.T) {
	for text, want := range map[string]string{
		`eq .object.status.phase "Bound"`:                                                "true",
		`eq .object.status.phase "Lost"`:                                                 "false",
		`eq .object.status.phase .values.phase`:                                          "true",
		`eq $.object.status.phase $.values.phase`:                                        "true",
		`ge (int .object.status.n) 2 | and (eq .spec.n 3)`:                               "true",
		`eq .object.status.none.at.all "x"`:                                              "false",
		`eq (include "phase" .) "Bound"`:                                                 "true",
		`and (not (ready .object)) (eq (len .observed.db) 1) (eq (len .children.web) 0)`: "true",
		`empty .object.metadata.resourceVersion`:                                         "true",
		`.object.status.done`:                                                            "error: children[db].readyWhen:1:1: .object.status.done has no value, but must be a boolean; compare it, or use default false",
		`.object.status.done | default false`:                                            "false",
		`.object.status.phase`:                                                           `error: children[db].readyWhen:1:1: .object.status.phase is a string, but must be a boolean; compare it, as in eq .object.status.phase "Bound"`,
		`.object.status`:                                                                 `error: children[db].readyWhen:1:1: .object.status is a map, but must be a boolean; compare it, as in eq .object.status.phase "Bound"`,
		`len .object.status.phase`:                                                       `error: children[db].readyWhen:1:1: len .object.status.phase is a number, but must be a boolean; compare it, as in eq .object.status.phase "Bound"`,
		`include "phase" .`:                                                              `error: children[db].readyWhen:1:1: include "phase" . is a string, but must be a boolean; compare it, as in eq .object.status.phase "Bound"`,
		"and true\n(gt .object.status.phase 1)":                                          "error: children[db].readyWhen:2:2: …",
		`fail "no"`:                                                                      "error: children[db].readyWhen:1:1: no",
		`until 9999999 | len | eq 1`:                                                     "error: children[db].readyWhen:1:1: …",
	} {
		in := &Input{Ready: running, Observed: from(map[string][]map[string]any{"db": {{}}})}
		calls := 0
		got, err := judge(t, text, in, func() (map[string]any, error) {
			calls++
			return map[string]any{"metadata": map[string]any{"resourceVersion": "7"}, "status": map[string]any{"phase": "Bound", "n": int64(2)}}, nil
		})
		answer := map[bool]string{true: "true", false: "false"}[got]
		if err != nil {
			answer = "error: " + err.Error()
		}
		brief, isPrefix := strings.CutSuffix(want, "…")
		if isPrefix && strings.HasPrefix(answer, brief) {
			answer = want
		}
		if answer != want {
			t.Errorf("%s: got %s, want %s", text, answer, want)
		}
		if calls > 1 {
			t.Errorf("%s: asked for the object %d times", text, calls)
		}
	}
}

// TestReadyWhenReportsBudgetError ends the evaluation, and says where.
func TestReadyWhenReportsBudgetError(t *testing.T) {
	ready, err := judge(t, `eq .object.a 1`, &Input{}, func() (map[string]any, error) { return nil, budget.ErrWork })
	e, ok := errors.AsType[*syntax.Error](err)
	if ready || !ok || e.Reason != syntax.Budget || !strings.HasPrefix(err.Error(), "children[db].readyWhen:1:4: ") {
		t.Errorf("got %v, %v", ready, err)
	}
}

func TestChildWithoutReadyWhenIsRejected(t *testing.T) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "db", Text: "a"}}})
	if err != nil || p.JudgesReadiness() || p.HasReadyWhen("db") {
		t.Fatalf("%v: a program without readyWhen judges readiness", err)
	}
	if _, err = p.ReadyWhen("db", nil, &Input{}); err == nil || err.Error() != "children[db].readyWhen: this child has no readyWhen" {
		t.Error(err)
	}
}
