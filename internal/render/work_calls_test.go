package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
)

// TestUnchargedResultsAreNotAllocated calls functions with an argument that can be paid for, and a result that cannot.
func TestUnchargedResultsAreNotAllocated(t *testing.T) {
	const size = 1 << 20
	list := slices.Repeat([]any{"a"}, size/16)
	m := map[string]any{}
	for i := range size / 64 {
		m[strings.Repeat("k", 1+i%7)+string(rune('a'+i))] = "v"
	}
	in := &Input{Parent: map[string]any{"spec": map[string]any{"s": strings.Repeat("a b\n", size/4), "list": list, "map": m}}, Ready: running}
	for call, work := range map[string]int{
		`upper .spec.s`: size, `html .spec.s`: size, `trimAll .spec.s .spec.s`: 2 * size, `replace "a" "bcdefgh" .spec.s`: 2 * size, `repeat 1000000000 "abc"`: size, `dnsLabel .spec.s`: size,
		`shellQuote .spec.s`: size, `indent 9 .spec.s`: size, `wrapWith 1 "abcdefgh" .spec.s`: size, `cat .spec.s .spec.s`: 2 * size, `print .spec.s .spec.s`: 2 * size, `printf "%q" .spec.s`: size, `urlParse .spec.s`: size,
		`fromJson .spec.s`: size, `regexFindAll "a" .spec.s -1`: size, `regexSplit "a" .spec.s -1`: size, `regexReplaceAll "a" .spec.s "b"`: size, `splitList "a" .spec.s`: size, `split "" .spec.s`: size, `regexFind "a" .spec.s`: size,
		`append .spec.list 1`: size / 4, `reverse .spec.list`: size / 4, `compact .spec.list`: size / 4, `uniq .spec.list`: size / 4, `slice .spec.list 1`: size / 4, `chunk 1 .spec.list`: size / 4, `sortAlpha .spec.list`: size / 4, `collect "a" .spec.list`: size / 4,
		`sortBy "a" .spec.list`: size / 4, `where "a" 1 .spec.list`: size / 4, `concat .spec.list .spec.list`: size / 2, `until 1000000`: size, `untilStep 0 1000000 1`: size, `seq 1000000`: size, `toStrings .spec.list`: size / 4, `join "," .spec.list`: size / 4,
		`keys .spec.map`: size / 4, `values .spec.map`: size / 4, `set .spec.map "a" 1`: size / 4, `merge .spec.map .spec.map`: size / 4, `omit .spec.map "a"`: size / 4, `deepEqual .spec.map .spec.map`: size / 4, `toJson .spec.map`: size / 4, `urlJoin .spec.map`: size / 4,
	} {
		p := programOf(t, "{{ $x := "+call+" }}")
		var err error
		bytes := allocated(func() { _, err = spend(p, in, budget.Meter{Work: work + 1000, Output: maxOutput, Nodes: maxNodes}) })
		if !ranOut(err, budget.ErrWork) || bytes > size/8 {
			t.Errorf("%s: %d bytes are allocated, %v", call, bytes, err)
		}
	}
}
