package quota

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestCompiledMemoryQuota(t *testing.T) {
	d := func(name, tenant string, bytes int, accepted bool) *Demand {
		return &Demand{name: name, tenant: tenant, bytes: bytes, accepted: accepted, created: time.Unix(int64(name[0]), 0)} // a is the oldest
	}
	for why, row := range map[string]struct {
		demands []*Demand
		want    string
	}{
		"all fit":                                                 {[]*Demand{d("a", "x", 25, false), d("b", "y", 25, false), d("c", "z", 25, false), d("d", "u", 25, false)}, "a b c d"},
		"one is beyond the share of its tenant":                   {[]*Demand{d("a", "x", 26, false), d("b", "x", 25, false)}, "b"},
		"several of a tenant are, and the oldest fit":             {[]*Demand{d("c", "x", 10, false), d("a", "x", 10, false), d("b", "x", 10, false), d("d", "y", 10, false)}, "a b d"},
		"a small one fits where an older one does not":            {[]*Demand{d("a", "x", 20, false), d("b", "x", 20, false), d("c", "x", 5, false)}, "a c"},
		"all tenants together have too much":                      {[]*Demand{d("a", "v", 25, false), d("b", "w", 25, false), d("c", "x", 25, false), d("d", "y", 20, false), d("e", "z", 25, false)}, "a b c d"},
		"what was accepted comes before what is older":            {[]*Demand{d("a", "x", 20, false), d("b", "x", 20, true)}, "b"},
		"what was accepted comes in order, if not all of it fits": {[]*Demand{d("b", "x", 20, true), d("a", "x", 20, true)}, "a"},
		"of the same age, the first by name":                      {[]*Demand{{name: "b", tenant: "x", bytes: 20}, {name: "a", tenant: "x", bytes: 20}}, "a"},
	} {
		t.Run(why, func(t *testing.T) {
			m := NewMemory(100*share, queue.NewTenants(), nil)
			m.Begin(row.demands)
			var admitted []string
			for _, d := range row.demands {
				if d.admitted {
					admitted = append(admitted, d.name)
				}
			}
			slices.Sort(admitted)
			if got := strings.Join(admitted, " "); got != row.want {
				t.Errorf("admitted are %s, want %s", got, row.want)
			}
		})
	}
	if m := NewMemory(math.MaxInt64, queue.NewTenants(), nil); m.Limit != defaultMemory/share {
		t.Errorf("without GOMEMLIMIT, %d bytes are for compiled specs", m.Limit)
	}
}
