package render

import (
	"fmt"
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{
			"name": "one", "finalizers": []any{"x"}, "labels": map[string]any{"templater.dev/a": "x", "app": "web"},
			"annotations": map[string]any{"finalize.templater.dev/b": "x", "example.org/managed": "yes"},
		},
		"spec": map[string]any{"class": "a"}, "status": map[string]any{"phase": "Running"},
	}
	for _, row := range []struct {
		why, filter string
		seesStatus  bool
		want        string // yes, no, or a part of the error
	}{
		{"an annotation", `eq (index .metadata.annotations "example.org/managed") "yes"`, false, "yes"},
		{"an annotation that is missing", `eq (index .metadata.annotations "example.org/other") "yes"`, false, "no"},
		{"a field that is missing", `eq .spec.none.deep "yes"`, false, "no"},
		{"a result that is missing", `.spec.none`, false, "no"},
		{"a result that is no boolean", `.spec.class`, false, "is a string, but must be a boolean"},
		{"values that cannot be compared", `eq .spec.class 1`, false, "cannot compare"},
		{"the status where it is read only", `eq .status.phase "Running"`, true, "yes"},
		{"the status by another way, where templater writes it", `eq (index .parent "status" "phase") "Running"`, false, "no"},
		{"finalizers", `empty .metadata.finalizers`, false, "yes"},
		{"labels of templater", `eq (len .metadata.labels) 1`, false, "yes"},
		{"annotations of templater", `eq (len .metadata.annotations) 1`, false, "yes"},
	} {
		t.Run(row.why, func(t *testing.T) {
			p, err := Compile(Source{Filter: row.filter, FilterSeesStatus: row.seesStatus})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Matches(object)
			switch {
			case row.want != "yes" && row.want != "no":
				if err == nil || !strings.Contains(err.Error(), row.want) || got {
					t.Errorf("got %v and error %v, want %s", got, err, row.want)
				}
			case err != nil || got != (row.want == "yes"):
				t.Errorf("got %v and error %v, want %s", got, err, row.want)
			}
		})
	}
}

func TestFilterMustNotReadOwnStatus(t *testing.T) {
	_, err := Compile(Source{Filter: `eq .status.phase "Running"`})
	if err == nil || !strings.Contains(err.Error(), ".status is not available in a filter of a TemplateController that writes the status") {
		t.Errorf("err = %v", err)
	}
}

// TestFilterHasSeparateBudget has filters that a reconciliation could pay for. Nothing does where they are evaluated.
func TestFilterHasSeparateBudget(t *testing.T) {
	const tooMuch = "the filter exceeds the budget of one object"
	for _, row := range []struct{ why, filter, err string }{
		{"a list", `gt (len (until 100000)) 1`, tooMuch},
		{"a string", `gt (len (repeat 1000000 "x")) 1`, tooMuch},
		{"a text that is longer than any may be", `gt (len (repeat 100000000 "x")) 1`, tooMuch},
		{"steps", `gt (len (regexFindAll "(a*)*b" (repeat 3000 "a") -1)) 1`, tooMuch},
		{"one that compares fields", `or (eq .spec.class "a") (has .metadata.name (list "one" "two"))`, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			p, err := Compile(Source{Filter: row.filter})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Matches(map[string]any{"metadata": map[string]any{"name": "one"}, "spec": map[string]any{"class": "a"}})
			if got := fmt.Sprint(err); row.err == "" && err != nil || !strings.Contains(got, row.err) {
				t.Errorf("the error is %v, want %q", err, row.err)
			}
		})
	}
}
