package docs

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/render/finding"
)

// TestTemplateControllersInPagesHaveNoErrors lints each TemplateController that a page shows, as far as it is whole. Recipes are tested as files, and the
// examples of findings have what they are about.
func TestTemplateControllersInPagesHaveNoErrors(t *testing.T) {
	count := 0
	for _, page := range allPages(t) {
		if page == "docs/reference/findings.md" {
			continue
		}
		for _, block := range fence.FindAllStringSubmatch(read(t, page), -1) {
			text, whole := wholeController(block[1])
			if !whole {
				continue
			}
			count++
			set, err := manifest.Parse(page, text)
			if err != nil {
				t.Errorf("%v, in:\n%s", err, text)
				continue
			}
			found, _ := lint.LoadReadableSchemas(set).Check(set)
			for _, f := range found {
				if f.Severity == finding.Error {
					t.Errorf("%s: %s, in:\n%s", page, f.Message, text)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no TemplateControllers found")
	}
}

// wholeController returns a block of YAML as a TemplateController, and whether it is one: some show the spec alone.
func wholeController(block string) (string, bool) {
	switch {
	case strings.Contains(block, "…"):
		return "", false
	case strings.HasPrefix(block, "spec:\n") && strings.Contains(block, "\n  watch:") && (strings.Contains(block, "\n  children:") || strings.Contains(block, "\n  status:")):
		return "apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: example}\n" + block, true
	default:
		return block, strings.HasPrefix(block, "apiVersion: templater.dev/v1\n")
	}
}
