package helmtest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page documents the differences, one per row.
const page = "../../../docs/concepts/helm.md"

var anchor = regexp.MustCompile(`<a id="([a-z-]+)"></a>`)

func TestSnippetsMatchHelmOrDocumentedDifference(t *testing.T) {
	rows := rows(t)
	used := map[string]bool{}
	same, differ := 0, 0
	for topic, snippets := range load(t) {
		for _, s := range snippets {
			t.Run(topic+"/"+s.Name, func(t *testing.T) {
				difference := compare(t, s)
				if difference == "" {
					same++
				} else {
					differ++
				}
				switch {
				case difference != "" && s.Differs == "":
					t.Errorf("templater differs from Helm:\n%s", difference)
				case difference == "" && s.Differs != "":
					t.Errorf("renders as Helm does, so row %q of %s does not apply", s.Differs, page)
				case s.Differs != "" && !rows[s.Differs]:
					t.Errorf("%s has no row %q", page, s.Differs)
				}
				used[s.Differs] = true
			})
		}
	}
	for row := range rows {
		if !used[row] {
			t.Errorf("row %q of %s has no snippet that shows it", row, page)
		}
	}
	t.Logf("%d snippets: %d render the same, %d differ as documented", same+differ, same, differ)
}

// compare returns how the results of the two engines differ, or "" if they do not.
func compare(t *testing.T, s snippet) string {
	t.Helper()
	helm, helmErr := helm(t.Context(), s)
	ours, oursErr := templater(s)
	t.Logf("\nHelm:      %s\ntemplater: %s", outcome(helm, helmErr), outcome(ours, oursErr))
	if both := helmErr != nil && oursErr != nil; both != s.Fails {
		if both {
			t.Error("both engines refuse it: say `fails: true` if that is meant")
		} else {
			t.Error("`fails: true` is set, but not both engines fail")
		}
	}
	if (helmErr != nil) != (oursErr != nil) {
		return fmt.Sprintf("Helm:      %s\ntemplater: %s", outcome(helm, helmErr), outcome(ours, oursErr))
	}
	if helmErr != nil {
		return ""
	}
	return cmp.Diff(canonical(t, helm), canonical(t, ours))
}

// outcome returns a result on one line.
func outcome(documents []any, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := json.Marshal(documents)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

// canonical converts all numbers to float64.
func canonical(t *testing.T, documents []any) any {
	t.Helper()
	text, err := json.Marshal(documents)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// rows returns the IDs of the rows of page.
func rows(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, match := range anchor.FindAllStringSubmatch(string(text), -1) {
		ids[match[1]] = true
	}
	if len(ids) == 0 {
		t.Fatalf("no row found in %s", page)
	}
	return ids
}
