package render

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
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

// budget returns a new budget of a reconciliation that asks the source.
func (s *source) budget() *budget.Budget {
	var b budget.Budget
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

// TestCallsAreCharged calls what testdata/work.txt lists, with arguments of several sizes, until enough is used up. No call
// may allocate more than was granted for it.
func TestCallsAreCharged(t *testing.T) {
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
