package object

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ports returns a set of list items and a list, with random key fields. Some items lack a key field, which the server then
// defaults, and some strings are escaped by the server.
func ports(random *rand.Rand, number int) (FieldSet, []any) {
	set, list := FieldSet{}, []any{}
	protocols := []string{"TCP", "UDP", "<&>", "\b"}
	escaped := map[string]string{"TCP": "TCP", "UDP": "UDP", "<&>": `\u003c\u0026\u003e`, "\b": `\u0008`}
	for range number {
		port, protocol := random.IntN(2*number), protocols[random.IntN(len(protocols))]
		if random.IntN(3) > 0 {
			set[fmt.Sprintf(`k:{"port":%d,"protocol":"%s"}`, port, escaped[protocol])] = map[string]any{"f:name": map[string]any{}}
		}
		item := map[string]any{"port": int64(port), "protocol": protocol, "name": fmt.Sprint(random.IntN(3))}
		switch random.IntN(4) {
		case 0:
			delete(item, "protocol")
		case 1:
			item["port"] = float64(port)
		case 2:
			if random.IntN(20) == 0 {
				delete(item, "port")
			}
		}
		if random.IntN(3) > 0 {
			list = append(list, item)
		}
	}
	return set, list
}

// values returns a set of scalars and a list.
func values(random *rand.Rand, number int) (FieldSet, []any) {
	set, list := FieldSet{}, []any{}
	for range number {
		n := random.IntN(2 * number)
		set[fmt.Sprintf(`v:%d`, n)], set[fmt.Sprintf(`v:"\u003c%d"`, n)] = map[string]any{}, map[string]any{}
		list = append(list, []any{int64(n + 1), float64(n), fmt.Sprintf("<%d", n), nil, true}[random.IntN(5)])
	}
	return set, list
}

// TestIndexMatchesScan compares an index of a long list with a linear search.
func TestIndexMatchesScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not used for secrets
	for round := range 300 {
		draw := ports
		if round%3 == 0 {
			draw = values
		}
		set, list := draw(random, 2*maxLinear+random.IntN(20))
		_, content := draw(random, 2*maxLinear)
		index := set.index(list)
		if !index.long {
			continue
		}
		for _, item := range append(content, list...) {
			want := map[string]bool{}
			for key := range set {
				if itemKey(key, item) {
					want[key] = true
				}
			}
			got := map[string]bool{}
			for _, key := range index.keysOf(item) {
				got[key] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d: keys of %v (-want +got):\n%s", round, item, diff)
			}
			if key, _, ok := index.first(item); ok != (len(want) > 0) || ok && !want[key] {
				t.Fatalf("round %d: key of %v: %q, want one of %v", round, item, key, want)
			}
		}
		for key := range set {
			_, want := pick(key, list)
			item, got := index.pick(key)
			if got != want || got && !itemKey(key, item) {
				t.Fatalf("round %d: item of %s: %v %v, want %v", round, key, item, got, want)
			}
		}
	}
}

// TestLongListsTakeLinearTime uses lists for which linear searches would take seconds to minutes.
func TestLongListsTakeLinearTime(t *testing.T) {
	const number = 4_000
	escaped, defaulted, list, short := FieldSet{}, FieldSet{}, []any{}, []any{}
	for i := range number {
		escaped[fmt.Sprintf(`k:{"uid":"\u003c%d"}`, i)] = map[string]any{}
		defaulted[fmt.Sprintf(`k:{"port":%d,"protocol":"TCP"}`, i)] = map[string]any{}
		list = append(list, map[string]any{"uid": fmt.Sprintf("<%d", i)})
		short = append(short, map[string]any{"port": int64(i)})
	}
	took := cpuTime(t, func() {
		if escaped.Hash(list) == 1 || !escaped.Holds(list, list) || escaped.Exceeds(list) || escaped.UncoveredValue(list) != "" {
			t.Error("the set does not hold its list")
		}
		if !defaulted.Holds(short, short) || defaulted.Exceeds(short) || len(defaulted.without(short)) > 0 || defaulted.UncoveredValue(short) != "" {
			t.Error("the set does not hold a list without a key field")
		}
	})
	if took > 5*time.Second {
		t.Errorf("it took %s of CPU time", took)
	}
}
