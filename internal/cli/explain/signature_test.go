package explain

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/funcs"
)

var update = flag.Bool("update", false, "write the results of examples.txt")

// TestExamples evaluates the examples. Those that read data, or stop rendering, have no result.
func TestExamples(t *testing.T) {
	var text strings.Builder
	for line := range strings.Lines(exampleText) {
		expression, _, _ := strings.Cut(strings.TrimSpace(line), " => ")
		program, err := render.Compile(render.Source{Status: fmt.Sprintf("r: {{ toJson (%s) | quote }}", expression), Helpers: `{{ define "labels" }}app: web{{ end }}`})
		if strings.Contains(expression, "(first .") || strings.Contains(expression, " .") {
			program, err = nil, nil
		}
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		text.WriteString(expression)
		if program != nil {
			status, err := program.Status(&render.Input{})
			switch {
			case err == nil:
				fmt.Fprintf(&text, " => %v", status["r"])
			case !strings.HasPrefix(expression, "fail ") && !strings.HasPrefix(expression, "wait "):
				t.Errorf("%s: %v", expression, err)
			}
		}
		text.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile("examples.txt", []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if text.String() != exampleText {
		t.Errorf("the results in examples.txt differ: run go test -update and review them\n%s", text.String())
	}
	for name, f := range funcs.Allowed() {
		if examples()[f.Same] == "" {
			t.Errorf("examples.txt has no example of %s", name)
		}
	}
}

func TestSignatures(t *testing.T) {
	for name, want := range map[string]string{
		"default":         "default VALUE [VALUE] -> VALUE",
		"regexReplaceAll": "regexReplaceAll STRING STRING STRING -> STRING",
		"slice":           "slice LIST|STRING [INTEGER] [INTEGER] -> VALUE",
		"merge":           "merge MAP [MAP...] -> MAP",
		"keys":            "keys MAP [MAP...] -> LIST of STRING",
		"hello":           "hello -> STRING",
		"mustAppend":      "mustAppend LIST VALUE -> LIST\nFor example: mustAppend (list 1) 2 => [1,2]",
	} {
		if got := Find(name)[0].More; !strings.HasPrefix(got, want+"\n") {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSearch(t *testing.T) {
	for word, want := range map[string]string{"random": "randAlphaNum", "Password": "derivePassword", "expiry": "now", "base64": "b64enc", "hexadecimal": "sha256sum", "loop": "range", "qqqqqq": "", "of": ""} {
		found := Search(word)
		if want == "" && len(found) > 0 || want != "" && !slices.ContainsFunc(found, func(e Entry) bool { return e.Name == want }) || len(found) > 10 {
			t.Errorf("%s: got %v, want %q", word, found, want)
		}
	}
	for word, names := range topics {
		if len(Find(word)) == 0 && len(Find(names[0])) == 0 {
			t.Errorf("the topic %s finds nothing", word)
		}
	}
}
