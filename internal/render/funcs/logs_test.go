package funcs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// logsOf renders a status template with access to the logs of a Pod p.
func logsOf(template string, texts map[string]string) (map[string]any, error) {
	p, err := render.Compile(render.Source{Status: template, Related: []syntax.Template{{Name: "pods"}}, Logs: true})
	if err != nil {
		return nil, err
	}
	return p.Status(&render.Input{
		Related: func(string) ([]map[string]any, error) {
			return []map[string]any{{"metadata": map[string]any{"name": "p", "resourceVersion": "1"}}}, nil
		},
		Logs: func(object map[string]any) (map[string]string, error) {
			if name := object["metadata"].(map[string]any)["name"]; name != "p" {
				return nil, errors.New("that is no Pod")
			}
			return texts, nil
		},
	})
}

// TestLogsAreRenderedAsStrings covers untrusted logs: whatever a log contains, it is a string where it is printed.
func TestLogsAreRenderedAsStrings(t *testing.T) {
	for name, text := range map[string]string{
		"YAML":                  "a: b\n- c\n---\nd: e\n",
		"a template":            `{{ fail "x" }} {{ .parent }} {{- range }}`,
		"no line end":           strings.Repeat("x", 10_000),
		"replaced characters":   "a\uFFFDb\n",
		"control characters":    "\x00\x1b[31mred\x1b[0m\r\n\u2028\u0085",
		"a number":              "1e3",
		"null":                  "null",
		"quotes":                "'\"`\\",
		"private-use character": "\uE000\uF8FF\U0010FFFD",
		"nothing":               "",
	} {
		t.Run(name, func(t *testing.T) {
			template := `
plain: {{ (logs (first .related.pods)).main }}
text: 'the log: {{ (logs (first .related.pods)).main }}'
block: |-
  {{ (logs (first .related.pods)).main }}
all: {{ logs (first .related.pods) | toJson }}
map:
  {{- range $container, $text := logs (first .related.pods) }}
  - container: {{ $container }}
    log: {{ $text }}
  {{- end }}
`
			if strings.ContainsAny(text, "\n\r\u2028\u0085") {
				template = strings.Replace(template, "block", "# block", 1)
				template = strings.Replace(template, "\n  {{ (logs (first .related.pods)).main }}", "", 1)
			}
			got, err := logsOf(template, map[string]string{"main": text})
			if err != nil {
				t.Fatal(err)
			}
			delete(got, "block")
			want := map[string]any{
				"plain": text, "text": "the log: " + text, "all": map[string]any{"main": text},
				"map": []any{map[string]any{"container": "main", "log": text}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLogs(t *testing.T) {
	for template, want := range map[string]string{
		`a: {{ (logs (first .related.pods)).none | default "no log" }}`: "",
		`a: {{ logs nil | len }}`:                                 "",
		`a: {{ (logs (first .related.pods)).none }}`:              "status:1:7: (logs (first .related.pods)).none has no value; set it, or use default, required or if",
		`a: {{ logs .related.pods }}`:                             "status:1:7: logs: argument 1 is a list, not a map",
		`a: {{ logs (dict "metadata" (dict "name" "x")) | len }}`: "status:1:7: logs: that is no Pod",
		`a: {{ logs }}`:                                           "status:1:7: logs needs 1 argument, not 0",
	} {
		_, err := logsOf(template, nil)
		if got := message(err); got != want {
			t.Errorf("%s: error is %q, want %q", template, got, want)
		}
	}
	const want = "status:1:7: logs: no entry of spec.related has logs; set logs in the entry that selects the Pod"
	for _, logs := range []bool{false, true} { // false fails to compile, true fails to render
		p, err := render.Compile(render.Source{Status: `a: {{ logs .parent | len }}`, Logs: logs})
		if logs {
			_, err = p.Status(&render.Input{Parent: map[string]any{}})
		}
		if message(err) != want {
			t.Errorf("without logs, the error is %q, want %q", message(err), want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestLogsAreCharged checks that printing the same log repeatedly uses up the budget, like any other text.
func TestLogsAreCharged(t *testing.T) {
	_, err := logsOf(`a: {{ range until 100000 }}{{ $x := logs (first $.related.pods) }}{{ end }}`, map[string]string{"main": strings.Repeat("x", 16<<10)})
	if at, ok := errors.AsType[*syntax.Error](err); !ok || at.Reason != syntax.Budget {
		t.Errorf("error is %v, want that the budget is used up", err)
	}
}
