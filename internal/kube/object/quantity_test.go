package object

import (
	"strings"
	"testing"
	"time"
)

func TestSameQuantity(t *testing.T) {
	for _, row := range []struct {
		a, b any
		want bool
	}{
		{"1000m", "1", true},
		{"1e3", "1k", true},
		{int64(1), "1", true},
		{"1", "2", false},
		{"1Ei", "1e18", false},
		{"some text", "another", false},
		{"some text", "some text", true},
	} {
		if got := SameQuantity(row.a, row.b); got != row.want {
			t.Errorf("%v and %v: %v, want %v", row.a, row.b, got, row.want)
		}
	}
}

// TestHugeQuantityIsComparedQuickly parses texts for which resource.ParseQuantity, or comparing its results, would take seconds
// to minutes.
func TestHugeQuantityIsComparedQuickly(t *testing.T) {
	for _, text := range []string{"1e10000000", "1e-10000000", "1E10000000", "1e2147483647", "1e-2147483648", "1e+2147483647", "1e9223372036854775808", strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20) + "1"} {
		took := cpuTime(t, func() {
			if SameQuantity(text, "1") {
				t.Errorf("%.20s equals 1", text)
			}
		})
		if took > time.Second {
			t.Errorf("%.20s took %s of CPU time", text, took)
		}
	}
}
