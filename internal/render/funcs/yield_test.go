package funcs_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// yield renders function calls. Each must return the JSON, or fail with the message after "error: ".
// The calls can use ../testdata/parent.json and ../testdata/helpers.txt.
func yield(t *testing.T, want map[string]string) {
	t.Helper()
	parent, err := data.ReadValues("parent", testdata(t, "parent.json"))
	if err != nil {
		t.Fatal(err)
	}
	in := &render.Input{
		Parent: parent,
		Observed: func(string) ([]map[string]any, error) {
			return []map[string]any{{"metadata": map[string]any{"name": "p", "resourceVersion": "1"}}}, nil
		},
		Ready: func(object map[string]any) bool {
			status, _ := object["status"].(map[string]any)
			return status["phase"] == "Running"
		},
	}
	helpers := string(testdata(t, "helpers.txt"))
	for call, want := range want {
		got, err := yields("{{ "+call+" }}", helpers, in)
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			got = "error: " + e.Message
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", call, got, want)
		}
	}
}

// yields renders an action and returns the result as JSON.
func yields(action, helpers string, in *render.Input) (string, error) {
	p, err := render.Compile(render.Source{
		Status: "v: " + action, Helpers: helpers, Children: []syntax.Template{{Name: "pods"}},
		Controller: "tc", Values: map[string]any{"color": "red", "count": 2},
	})
	if err != nil {
		return "", err
	}
	status, err := p.Status(in)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(status["v"])
	return string(out), err
}

func testdata(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile("../testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDerivedMultilineTextCannotBeIndented covers multi-line text that is computed from data and from rendered text.
func TestDerivedMultilineTextCannotBeIndented(t *testing.T) {
	const refused = "error: nindent: text of several lines that was computed from rendered text cannot be indented; put the text in a define block and indent what include yields"
	yield(t, map[string]string{
		`upper (include "map" .) | nindent 2`:          refused,
		`(split "x" (include "map" .))._0 | nindent 2`: refused,
		`(split "x" "a\nbxc")._0 | nindent 2`:          `"a\nb"`,
		`upper "a\nb" | nindent 2`:                     `"A\nB"`,
	})
}
