package docs

import (
	"regexp"
	"strings"
	"testing"
)

var (
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	rows     = regexp.MustCompile(`(?m)(^\|.*\n)+`)
	dashes   = regexp.MustCompile(`^\|(:?-+:?\|)+$`)
	cellEnds = regexp.MustCompile(`[^\\]\|`)
)

// TestTablesAreWellFormed has each row that begins with | belong to a table, with as many cells as its head has: GitHub shows any other row as text, and leaves
// out cells that are too many. A | within a cell is written \|, also in code.
func TestTablesAreWellFormed(t *testing.T) {
	count := 0
	for _, page := range allPages(t) {
		for _, table := range rows.FindAllString(fenced.ReplaceAllString(read(t, page), ""), -1) {
			count++
			lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
			if len(lines) < 2 || !dashes.MatchString(lines[1]) {
				t.Errorf("%s: this is no table: %s", page, lines[0])
				continue
			}
			for _, line := range lines {
				if got, want := cells(line), cells(lines[0]); got != want {
					t.Errorf("%s: this row has %d cells, and the head %d: %s", page, got, want, line)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no tables found")
	}
}

// cells counts the cells of a row.
func cells(row string) int { return len(cellEnds.FindAllString(strings.TrimSpace(row), -1)) }
