package docs

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestProblemMatcherParsesFindings takes the pattern of the page for a task of VS Code, and the findings of another page.
func TestProblemMatcherParsesFindings(t *testing.T) {
	var pattern *regexp.Regexp
	for _, block := range strings.Split(read(t, "docs/how-to/editors.md"), "```json\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var content struct {
			Tasks []struct {
				ProblemMatcher struct {
					Pattern struct {
						Regexp string `json:"regexp"`
					} `json:"pattern"`
				} `json:"problemMatcher"`
			} `json:"tasks"`
		}
		if err := json.Unmarshal([]byte(text), &content); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for _, task := range content.Tasks {
			pattern = regexp.MustCompile(task.ProblemMatcher.Pattern.Regexp)
		}
	}
	if pattern == nil {
		t.Fatal("no task")
	}
	found := 0
	for line := range strings.Lines(read(t, "docs/reference/findings.md")) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "app.yaml:") {
			continue
		}
		found++
		m := pattern.FindStringSubmatch(line)
		if m == nil || m[1] != "app.yaml" || m[6] == "" || !strings.HasSuffix(line, "["+m[6]+"]") {
			t.Errorf("%q: got %q", line, m)
		}
	}
	if found == 0 {
		t.Error("no findings")
	}
}
