package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// warned is a TemplateController with a warning TL039, in line 13; %s are suppressions.
const warned = `apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: example} # a comment
spec:
  watch: {apiVersion: apps/v1, kind: Deployment}
  children:
  - name: secret
    template: |
      apiVersion: v1
      kind: Secret
      metadata: {name: "{{ .metadata.name }}"}
      stringData:%s
        size: {{ .spec.revisionHistoryLimit | quote }}%s
`

func TestSuppressions(t *testing.T) {
	const unused, without, code = "unused suppression: no warning %s here; remove the comment", "suppression without a reason: write why after %s", "suppression without a code"
	for _, row := range []struct {
		name, above, behind string
		want                []string // codes and beginnings of messages
	}{
		{name: "none", want: []string{"13 TL039"}},
		{name: "behind", behind: " # templater:ignore TL039 set by admission"},
		{name: "above", above: "\n        # templater:ignore TL039 set by admission"},
		{name: "a comment of a template", above: "\n        {{- /* templater:ignore TL039 set by admission */}}"},
		{name: "above a comment and a blank line", above: "\n        # templater:ignore TL039 set by admission\n\n        # the size"},
		{name: "two above", above: "\n        # templater:ignore TL039 set by admission\n        # templater:ignore TL052 a word", want: []string{"14 TL070 " + fmt.Sprintf(unused, "TL052")}},
		{name: "behind another line", above: " # templater:ignore TL039 set by admission", want: []string{"12 TL070 " + fmt.Sprintf(unused, "TL039"), "13 TL039"}},
		{name: "another code", behind: " # templater:ignore TL041 set by admission", want: []string{"13 TL039", "13 TL070 " + fmt.Sprintf(unused, "TL041")}},
		{name: "without a reason", behind: " # templater:ignore TL039", want: []string{"13 TL070 " + fmt.Sprintf(without, "TL039")}},
		{name: "without a code", behind: " # templater:ignore", want: []string{"13 TL039", "13 TL070 " + code}},
		{name: "a word is no code", behind: " # templater:ignore this", want: []string{"13 TL039", "13 TL070 " + code}},
		{name: "an error", above: "\n        a: {{ nothing .spec }} # templater:ignore TL003 I know", want: []string{"13 TL003"}},
		{name: "another word", behind: " # templater:ignored TL039", want: []string{"13 TL039"}},
		{name: "text", behind: " x#templater:ignore TL039 set by admission", want: []string{"13 TL039"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := found(t, fmt.Sprintf(warned, row.above, row.behind))
			for i := range got {
				if i < len(row.want) && strings.HasPrefix(got[i], row.want[i]) {
					got[i] = row.want[i]
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// found returns line, code and message of each finding in a text.
func found(t *testing.T, text string) (all []string) {
	t.Helper()
	set, err := manifest.Parse("app.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	located, _ := LoadReadableSchemas(set).Check(set)
	for _, l := range located {
		all = append(all, fmt.Sprintf("%d %s %s", l.FileLine, l.Code, l.Message))
	}
	return all
}

func TestSuppressionsOutsideTemplates(t *testing.T) {
	text := strings.Replace(warned, "metadata: {name: example} # a comment", "metadata: {name: example} # templater:ignore TL039 not here", 1)
	want := []string{"3 TL070 unused suppression: no warning TL039 here; remove the comment"}
	got := found(t, fmt.Sprintf(text, "", " # templater:ignore TL039 set by admission"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	text = strings.Replace(fmt.Sprintf(text, "", ""), "watch: {apiVersion: apps/v1, kind: Deployment}", "watch: {apiVersion: example.org/v1, kind: App}", 1)
	if got := found(t, text); len(got) > 0 {
		t.Errorf("got %s, but without the schema it is not known whether a suppression is unused", got)
	}
}

func TestSuppressionsInTheOperator(t *testing.T) {
	set, err := manifest.Parse("app.yaml", fmt.Sprintf(warned, "\n        # templater:ignore TL039 set by admission", ""))
	if err != nil {
		t.Fatal(err)
	}
	result := Check(set.Controllers[0].TemplateController, LoadReadableSchemas(set).Schemas)
	if len(result.Findings) > 0 || len(result.Suppressed) != 1 {
		t.Errorf("got findings %v and suppressed %v", result.Findings, result.Suppressed)
	}
}
