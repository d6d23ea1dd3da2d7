package render

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

var errEnough = errors.New("enough")

// source grants most bytes at most.
type source struct{ most, granted, asked int }

func (s *source) Grow(bytes int) error {
	s.asked++
	if s.granted+bytes > s.most {
		return errEnough
	}
	s.granted += bytes
	return nil
}

// budget returns a new budget of a pass that asks the source.
func (s *source) budget() *budget.Pass {
	var b budget.Pass
	b.Begin(s)
	return &b
}

// all returns how many bytes were granted, with those that are free.
func (s *source) all() uint64 { return uint64(s.granted + budget.FreeBytes) } //nolint:gosec // it is not negative

// largeInput is workInput with texts, lists and maps that are so many times as long.
func largeInput(times int) *Input {
	in := workInput()
	spec := in.Parent["spec"].(map[string]any)
	for key, v := range spec {
		switch v := v.(type) {
		case string:
			if key != "json" && key != "url" {
				spec[key] = strings.TrimSuffix(strings.Repeat(v+".", times), ".")
			}
		case []any:
			spec[key] = slices.Repeat(v, times)
		case map[string]any:
			m := map[string]any{}
			for i := range times {
				for k, w := range v {
					m[fmt.Sprint(k, "-", i)] = w
				}
			}
			spec[key] = m
		}
	}
	return in
}

// TestCallsArePaidFor calls what testdata/work.txt lists, with arguments of several sizes, until enough is used up. No call
// may allocate more than was granted for it.
func TestCallsArePaidFor(t *testing.T) {
	lines, err := os.ReadFile("testdata/work.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		p := programOf(t, "{{ range 1000000000 }}{{ with $ }}{{ $x := "+call+" }}{{ end }}{{ end }}")
		for _, times := range []int{1, 20} {
			in := largeInput(times)
			in.Budget = (&source{most: 2 << 20}).budget()
			_, _ = p.Child("x", in) // the pool and what is made once
			from := &source{most: 2 << 20}
			in.Budget = from.budget()
			if bytes := allocated(func() { _, _ = p.Child("x", in) }); bytes > from.all() {
				t.Errorf("%s on %d times the data: %d KiB are allocated, %d KiB are granted", call, times, bytes>>10, from.all()>>10)
			}
		}
	}
}

// parts are those of which random YAML is made, and around is where it stands.
var (
	parts  = []string{":", "-", " ", "\n", ",", "[", "]", "{", "}", "?", "'", `"`, "a", "&a", "*a", "!", "#", "|", ">", "\t", `\`, ": ", "? ", "- ", "\n ", "\u2028", "é"}
	around = [][2]string{
		{"", ""}, {"[", "]"}, {"{", "}"}, {"- ", ""}, {"a: ", ""}, {"? ", ""}, {"- - - - - - - - - -\n ", ""}, {"a: {b: [", ""}, {"'", "'"}, {`"`, `"`}, {"|\n ", ""}, {"a: >\n ", ""},
	}
)

// checkParsing parses a text and compares what that allocates with what it is charged, of which it may be that many times as much.
func checkParsing(t *testing.T, text string, times uint64) {
	t.Helper()
	x := &exec{Table: token.Table{Meter: newBudget()}}
	bytes := allocated(func() {
		if parsed, err := x.read(text, false); err == nil {
			_ = x.documents(parsed, func(*yaml.Node) error { return nil })
		}
	})
	if paid := uint64(budget.MaxWork-x.Work) * unitBytes; bytes > times*paid { //nolint:gosec // it is not negative
		t.Errorf("%d bytes of %.80q: %d KiB are allocated, %d KiB are paid for", len(text), text, bytes>>10, paid>>10)
	}
}

// TestParsingIsPaidFor parses what takes most for its length: a few characters over and over.
func TestParsingIsPaidFor(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	texts := []string{
		"[" + strings.Repeat(": -", 79_000) + "]", "[" + strings.Repeat(": - ", 30_000) + "]", strings.Repeat("? ", 3000), "{" + strings.Repeat("*a :", 5000), "{" + strings.Repeat("\n#\na", 5000),
		"[" + strings.Repeat("'\t:!?", 5000), strings.Repeat("! ", 5000), "{" + strings.Repeat("\n-: \\,", 5000), "{:{" + strings.Repeat("}", 1000),
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

// FuzzParsingIsPaidFor looks for much worse.
func FuzzParsingIsPaidFor(f *testing.F) {
	for i, part := range parts {
		f.Add(part, around[i%len(around)][0], uint16(1000)) //nolint:gosec // small
	}
	f.Fuzz(func(t *testing.T, part, before string, times uint16) {
		if len(part) > 0 && len(part) < 30 && len(before) < 30 {
			checkParsing(t, before+strings.Repeat(part, int(times)), 2)
		}
	})
}
