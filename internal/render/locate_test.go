package render

import (
	"errors"
	"fmt"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// podsWithout returns so many Pods that lack a status, each with so many mappings in its specification.
func podsWithout(pods, mappings int) *Input {
	var objects []map[string]any
	for i := range pods {
		volumes := map[string]any{}
		for j := range mappings {
			volumes[fmt.Sprint("v", j)] = map[string]any{"size": "1Gi"}
		}
		objects = append(objects, map[string]any{"kind": "Pod", "metadata": map[string]any{"name": fmt.Sprint("p", i)}, "spec": map[string]any{"volumes": volumes}})
	}
	list := func(string) ([]map[string]any, error) { return objects, nil }
	return &Input{Parent: map[string]any{"kind": "App"}, Related: list}
}

// missingWork returns the work of a status template for each Pod that has a missing value, on budget b.
func missingWork(t *testing.T, body string, in *Input, b budget.Meter) (int, error) {
	t.Helper()
	p, err := Compile(Source{Related: []syntax.Template{{Name: "pods"}}, Status: "a:\n{{ range .related.pods }}" + body + "{{ end }}"})
	if err != nil {
		t.Fatal(err)
	}
	x := p.start(p.status, in)
	x.Meter = b
	err = x.invoke("", &x.view.Root)
	return b.Work - x.Work, err
}

const (
	inThePod      = "\n- {{ .podIP }}"
	inTheDeepest  = "\n- {{ .spec.volumes.v0.path }}"
	inAMadeObject = "\n- {{ upper (dict).name }}"
)

// TestMissingValueSearchIsCharged counts the work: at least one unit per mapping that is visited, however often values are missing.
func TestMissingValueSearchIsCharged(t *testing.T) {
	const mappings = 20
	work := func(pods, mappings int) int {
		work, err := missingWork(t, inTheDeepest, podsWithout(pods, mappings), newBudget())
		if err != nil {
			t.Fatal(err)
		}
		return work
	}
	once, fourTimes := work(50, mappings), work(200, mappings)
	if least := work(50, 1) + 50*(mappings-1); once < least {
		t.Errorf("50 Pods with %d mappings cost %d, want at least %d", mappings, once, least)
	}
	if fourTimes > 5*once {
		t.Errorf("50 Pods cost %d, 200 cost %d: want costs in proportion", once, fourTimes)
	}
}

func TestMissingFieldSearchCostIsIndependentOfSize(t *testing.T) {
	small, err := missingWork(t, inThePod, podsWithout(50, 1), newBudget())
	if err != nil {
		t.Fatal(err)
	}
	large, err := missingWork(t, inThePod, podsWithout(50, 100), newBudget())
	if err != nil || large != small {
		t.Errorf("with large Pods: %d (%v), with small ones: %d; want the same", large, err, small)
	}
}

func TestMissingValueSearchStopsAtBudget(t *testing.T) {
	for _, row := range []struct{ why, body string }{{"in a mapping below", inTheDeepest}, {"in an object that the template made", inAMadeObject}} {
		t.Run(row.why, func(t *testing.T) {
			b := newBudget()
			b.Work = 20_000
			_, err := missingWork(t, row.body, podsWithout(1, 1000), b)
			var failure *syntax.Error
			if !errors.As(err, &failure) || failure.Reason != syntax.Budget {
				t.Errorf("err = %v, want one of the budget", err)
			}
		})
	}
}

// TestMissingValueErrorsAreCharged has a template that does nothing but miss a value, which makes two errors each time.
func TestMissingValueErrorsAreCharged(t *testing.T) {
	for _, row := range []struct{ why, body string }{
		{"printed", inThePod}, {"printed, in a mapping below", inTheDeepest}, {"an argument", "{{ if upper .podIP }}{{ end }}"},
	} {
		t.Run(row.why, func(t *testing.T) {
			body, in := "{{ $pod := . }}{{ range 1000000 }}{{ with $pod }}"+row.body+"{{ end }}{{ end }}", podsWithout(1, 1)
			b := newBudget()
			b.Work /= 16
			var err error
			bytes := allocated(func() { _, err = missingWork(t, body, in, b) })
			var failure *syntax.Error
			if !errors.As(err, &failure) || failure.Reason != syntax.Budget {
				t.Fatalf("err = %v, want one of the budget", err)
			}
			if most := uint64(budget.MaxBytes / 16); bytes > most {
				t.Errorf("it allocated %d bytes, and may allocate %d", bytes, most)
			}
		})
	}
}
