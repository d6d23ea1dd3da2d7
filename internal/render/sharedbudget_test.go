package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// passTemplates are two entries and a status that each use up a third of a budget, and more.
func passTemplates(t *testing.T, times int) *Program {
	t.Helper()
	text := fmt.Sprintf("{{ range %d }}{{ $x := 1 }}{{ end }}apiVersion: v1\nkind: A\n", times)
	p, err := Compile(Source{Children: []syntax.Template{{Name: "a", Text: text}, {Name: "b", Text: text}}, Status: text})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTemplatesShareBudgetOfReconciliation renders all templates of a reconciliation with one budget. The one that does not fit any more fails, and all after it.
func TestTemplatesShareBudgetOfReconciliation(t *testing.T) {
	const third = budget.MaxWork / (3 * budget.CostStep) / 3 // a round takes three steps
	for why, row := range map[string]struct {
		times int
		fails map[string]bool
	}{
		"enough for all":  {third - 5000, map[string]bool{}},
		"enough for two":  {third + 5000, map[string]bool{"status": true}},
		"enough for one":  {third*3/2 + 5000, map[string]bool{"children[b]": true, "status": true}},
		"enough for none": {third*3 + 5000, map[string]bool{"children[a]": true, "children[b]": true, "status": true}},
	} {
		p := passTemplates(t, row.times)
		from := &source{most: budget.MaxBytes}
		in := &Input{Budget: from.budget()}
		_, errA := p.Child("a", in)
		_, errB := p.Child("b", in)
		_, errStatus := p.Status(in)
		for place, err := range map[string]error{"children[a]": errA, "children[b]": errB, "status": errStatus} {
			e, ok := errors.AsType[*syntax.Error](err)
			switch {
			case !row.fails[place] && err == nil:
			case !row.fails[place] || !ok || e.Reason != syntax.Budget || e.Template != place || e.Message != budget.ErrWork.Error():
				t.Errorf("%s: %s: %v", why, place, err)
			}
		}
		if from.granted > budget.MaxBytes {
			t.Errorf("%s: %d bytes were granted, want at most %d", why, from.granted, budget.MaxBytes)
		}
	}
}

// TestSmallReconciliationsRequestNoMemory holds that an ordinary reconciliation never asks for memory.
func TestSmallReconciliationsRequestNoMemory(t *testing.T) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "configMap", Text: benchConfigMap}, {Name: "pod", Text: benchPod}, {Name: "x", Text: ""}}, Status: benchStatus})
	if err != nil {
		t.Fatal(err)
	}
	in := benchInput()
	in.Observed = func(string) ([]map[string]any, error) { return nil, in.Budget.Spend(10 << 10) }
	in.Budget = (&source{}).budget()
	if err := in.Budget.Spend(10 << 10); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"configMap", "pod"} {
		if _, err := p.Child(name, in); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Status(in); err != nil {
		t.Error(err)
	}
}

// TestThousandPodsAndStatusFitBudget makes a thousand Pods in one reconciliation, and tells their state.
func TestThousandPodsAndStatusFitBudget(t *testing.T) {
	p, err := Compile(Source{
		Children: []syntax.Template{{Name: "x", Text: "{{ range $i := until 1000 }}---\n" + strings.ReplaceAll(strings.ReplaceAll(benchPod, "{{ .", "{{ $."), "{{ index .", "{{ index $.") + "{{ end }}"}},
		Status:   benchStatus,
	})
	if err != nil {
		t.Fatal(err)
	}
	in := benchInput()
	pods, _ := benchPods(false)("x")
	in.Budget = (&source{most: budget.MaxBytes}).budget()
	in.Observed = func(string) ([]map[string]any, error) { return slices.Repeat(pods, 10), in.Budget.Spend(8 << 20) }
	if objects, err := p.Child("x", in); err != nil || len(objects) != 1000 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	t.Logf("%d of %d units are left", in.Budget.Left(), budget.MaxWork)
	if _, err := p.Status(in); err != nil {
		t.Error(err)
	}
	t.Logf("%d of %d units are left", in.Budget.Left(), budget.MaxWork)
}

// TestInterruptedReconciliationStaysEnded ends a reconciliation from outside: at once, at the place where it is, and for good.
func TestInterruptedReconciliationStaysEnded(t *testing.T) {
	from := &source{most: 3 * budget.FreeBytes}
	pass := from.budget()
	in := &Input{Budget: pass, Parent: map[string]any{"spec": map[string]any{"text": "a: 1"}}}
	p, err := Compile(Source{Children: []syntax.Template{{Name: "a", Text: `{{ range 1000000000 }}{{ end }}`}, {Name: "b", Text: `{{ fromYaml .spec.text }}`}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		_, err := p.Child(name, in)
		e, ok := errors.AsType[*syntax.Error](err)
		if !ok || e.Reason != syntax.Interrupted || e.Template != "children["+name+"]" || e.Message != "the reconciliation was interrupted and will be repeated" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if from.asked != 4 {
		t.Errorf("asked %d times, want 4", from.asked)
	}
	if err := pass.Spend(1 << 40); !errors.Is(err, errEnough) {
		t.Errorf("the error is %v", err)
	}
}

// TestKeptBytesOfTemplatesAddUp adds up what the templates of a reconciliation have yielded.
func TestKeptBytesOfTemplatesAddUp(t *testing.T) {
	const nodeBytes = 256 // as package budget has it
	p, err := Compile(Source{Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: A\na: {{ .spec.long }}"}}})
	if err != nil {
		t.Fatal(err)
	}
	in := &Input{Budget: (&source{}).budget(), Parent: map[string]any{"spec": map[string]any{"long": strings.Repeat("l", 1000)}}}
	for i := range 3 {
		if _, err := p.Child("a", in); err != nil {
			t.Fatal(err)
		}
		if kept := in.Budget.Kept(); kept < (i+1)*(1000+4*nodeBytes) || kept > (i+1)*(1100+4*nodeBytes) {
			t.Errorf("%d bytes are kept after %d templates", kept, i+1)
		}
	}
}

// TestObservedChildrenAreCharged reads children that cost more than there is.
func TestObservedChildrenAreCharged(t *testing.T) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: ""}}, Status: "a: {{ len .children.x }}"})
	if err != nil {
		t.Fatal(err)
	}
	pass := (&source{most: budget.MaxBytes}).budget()
	in := &Input{Budget: pass, Observed: func(string) ([]map[string]any, error) { return nil, pass.Spend(budget.MaxBytes - budget.FreeBytes) }}
	if _, err = p.Status(in); err != nil {
		t.Error(err)
	}
	_, err = p.Status(in)
	if e, ok := errors.AsType[*syntax.Error](err); !ok || e.Reason != syntax.Budget || e.Line != 1 || e.Column != 11 {
		t.Errorf("the second time: %v", err)
	}
}
