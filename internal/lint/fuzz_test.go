package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/finding"
)

// FuzzLint checks any text as TemplateControllers and as definitions of kinds: it never panics, and takes no memory without end. What
// it finds has a rule and a place in the text, and can be shown in each form.
func FuzzLint(f *testing.F) {
	examples, err := filepath.Glob("testdata/findings/*.yaml")
	if err != nil || len(examples) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		controller, definitions, _ := strings.Cut(string(text), "---\n")
		f.Add(controller, definitions)
	}
	f.Fuzz(func(t *testing.T, controllers, definitions string) {
		if len(controllers)+len(definitions) > size {
			t.Skip()
		}
		set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader(controllers))
		if err != nil {
			return
		}
		more, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader(definitions))
		if err != nil {
			more = &manifest.Set{}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		known, err := Know(set, more)
		if err != nil {
			return
		}
		all, summary := known.Check(set)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%d MiB were allocated", used>>20)
		}
		lines := breaks(controllers) + 1
		for _, l := range all {
			if _, known := finding.Lookup(l.Code); !known || l.Message == "" || strings.Contains(l.Message, "\n") || l.FileLine < 1 || l.FileLine > lines {
				t.Errorf("found %+v", l)
			}
		}
		var out bytes.Buffer
		if report.Text(&out, report.Colors{}, all, summary) != nil || report.JSON(&out, all, summary) != nil || report.SARIF(&out, all) != nil {
			t.Error("not all forms can be written")
		}
	})
}

// breaks counts the characters that end a line of YAML for the parser.
func breaks(text string) int {
	count := 0
	for _, r := range text {
		if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
			count++
		}
	}
	return count
}
