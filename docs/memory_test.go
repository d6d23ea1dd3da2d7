package docs

import (
	"regexp"
	"strings"
	"testing"
)

// TestMemoryPageNamesExistingTests has each row of the page name a test that exists.
func TestMemoryPageNamesExistingTests(t *testing.T) {
	tests := declaredTests(t, "internal")
	named := regexp.MustCompile("`(Test\\w+)`")
	for _, row := range strings.Split(read(t, "docs/contributing/memory.md"), "\n") {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| Fact ") {
			continue
		}
		all := named.FindAllStringSubmatch(row, -1)
		if len(all) == 0 {
			t.Errorf("no test in %q", row)
		}
		for _, m := range all {
			if !tests[m[1]] {
				t.Errorf("no %s", m[1])
			}
		}
	}
}
