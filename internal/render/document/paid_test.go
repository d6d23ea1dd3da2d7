package document

import (
	"math/rand"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// parts are the fragments of random YAML, and around is what surrounds it.
var (
	parts  = []string{":", "-", " ", "\n", ",", "[", "]", "{", "}", "?", "'", `"`, "a", "&a", "*a", "!", "#", "|", ">", "\t", `\`, ": ", "? ", "- ", "\n ", "\u2028", "é"}
	around = [][2]string{
		{"", ""}, {"[", "]"}, {"{", "}"}, {"- ", ""}, {"a: ", ""}, {"? ", ""}, {"- - - - - - - - - -\n ", ""}, {"a: {b: [", ""}, {"'", "'"}, {`"`, `"`}, {"|\n ", ""}, {"a: >\n ", ""},
	}
)

// checkParsing parses text and checks that it allocates at most times as much as it is charged for.
func checkParsing(t *testing.T, text string, times uint64) {
	t.Helper()
	x := &token.Table{Meter: newMeter()}
	bytes := allocated(func() {
		if parsed, err := read(x, text, false); err == nil {
			_ = documents(x, parsed, func(*yaml.Node) error { return nil })
		}
	})
	if paid := uint64(budget.MaxWork-x.Work) * (budget.MaxBytes / budget.MaxWork); bytes > times*paid { //nolint:gosec // it is not negative
		t.Errorf("%d bytes of %.80q: %d KiB are allocated, %d KiB are paid for", len(text), text, bytes>>10, paid>>10)
	}
}

// TestParsingIsCharged parses the most expensive text for its length: a few characters, repeated.
func TestParsingIsCharged(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	texts := []string{
		"[" + strings.Repeat(": -", 79_000) + "]", "[" + strings.Repeat(": - ", 30_000) + "]", strings.Repeat("? ", 3000), "{" + strings.Repeat("*a :", 5000), "{" + strings.Repeat("\n#\na", 5000),
		"[" + strings.Repeat("'\t:!?", 5000), strings.Repeat("! ", 5000), "{" + strings.Repeat("\n-: \\,", 5000), "{:{" + strings.Repeat("}", 1000),
		"{" + strings.Repeat("..\n.", 1090), strings.Repeat("...\n", 1090), "a\n" + strings.Repeat("...\n", 1090),
	}
	for range 1500 {
		var s strings.Builder
		for range 1 + rng.Intn(6) {
			s.WriteString(parts[rng.Intn(len(parts))])
		}
		where := around[rng.Intn(len(around))]
		texts = append(texts, where[0]+strings.Repeat(s.String(), []int{300, 1000, 3000, 10_000}[rng.Intn(4)]/s.Len())+where[1])
	}
	for _, text := range texts {
		checkParsing(t, text, 1)
	}
}

// FuzzParsingIsCharged looks for text that allocates more than twice what it is charged for.
func FuzzParsingIsCharged(f *testing.F) {
	for i, part := range parts {
		f.Add(part, around[i%len(around)][0], uint16(1000)) //nolint:gosec // small
	}
	f.Fuzz(func(t *testing.T, part, before string, times uint16) {
		if len(part) > 0 && len(part) < 30 && len(before) < 30 {
			checkParsing(t, before+strings.Repeat(part, int(times)), 2)
		}
	})
}

// allocated returns the total number of bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
