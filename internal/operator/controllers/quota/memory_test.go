package quota

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestCompiledMemoryQuota(t *testing.T) {
	d := func(name, tenant string, bytes int, accepted bool) *Demand {
		return &Demand{name: name, tenant: tenant, bytes: bytes, accepted: accepted, created: time.Unix(int64(name[0]), 0)} // a is the oldest
	}
	n := func(name, namespace string, bytes int, accepted bool) *Demand {
		of := d(name, namespace, bytes, accepted)
		of.namespaced = true
		return of
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
		"of too many in a namespace, the oldest":                  {[]*Demand{n("d", "x", 1, false), n("c", "x", 1, false), n("b", "x", 1, false), n("a", "x", 1, false), n("e", "y", 1, false)}, "a b c e"},
		"of too many, those that were accepted":                   {[]*Demand{n("d", "x", 1, true), n("c", "x", 1, true), n("b", "x", 1, true), n("a", "x", 1, false)}, "b c d"},
		"a TemplateController does not count as one of them":      {[]*Demand{n("c", "x", 1, false), n("b", "x", 1, false), n("a", "x", 1, false), d("d", "x", 1, false)}, "a b c d"},
		"one that does not fit in memory does not count, either":  {[]*Demand{n("d", "x", 1, false), n("c", "x", 1, false), n("b", "x", 1, false), n("a", "x", 26, false)}, "b c d"},
	} {
		t.Run(why, func(t *testing.T) {
			m := NewMemory(100*share, queue.NewTenants(), nil)
			m.Most = 3
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

// TestWaitingDemandsGetTheirTurn deletes TemplateControllers one by one.
func TestWaitingDemandsGetTheirTurn(t *testing.T) {
	demand := func(name, tenant string, bytes int) *Demand {
		return &Demand{name: name, tenant: tenant, namespaced: true, bytes: bytes, created: time.Unix(int64(name[0]), 0)}
	}
	for why, row := range map[string]struct {
		demands []*Demand
		deleted string
		want    string // admitted by each deletion
	}{
		"the oldest of the namespace":             {[]*Demand{demand("a", "x", 1), demand("b", "x", 1), demand("d", "x", 1), demand("c", "x", 1), demand("e", "y", 1)}, "b a", "c d"},
		"none for one that waits":                 {[]*Demand{demand("a", "x", 1), demand("b", "x", 1), demand("c", "x", 1), demand("d", "x", 1)}, "d a", "- c"},
		"a small one fits":                        {[]*Demand{demand("a", "x", 10), demand("b", "x", 15), demand("c", "x", 20), demand("d", "x", 10)}, "a", "d"},
		"one of another tenant, if all were full": {[]*Demand{demand("a", "v", 25), demand("b", "w", 25), demand("c", "x", 25), demand("d", "y", 20), demand("e", "z", 25), demand("f", "u", 5), demand("g", "t", 5)}, "a", "e"},
		"in order of their age, whatever tenant":  {[]*Demand{demand("a", "v", 25), demand("b", "w", 25), demand("c", "x", 25), demand("d", "y", 25), demand("f", "z", 10), demand("e", "u", 10), demand("g", "v", 5)}, "a", "efg"},
	} {
		t.Run(why, func(t *testing.T) {
			now := ""
			m := NewMemory(100*share, queue.NewTenants(), func(name string) { now += name })
			m.Most = 2
			m.Begin(row.demands)
			var got []string
			for name := range strings.FieldsSeq(row.deleted) {
				now = ""
				m.ForgetController(name)
				got = append(got, cmp.Or(now, "-"))
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("admitted are %s, want %s", got, row.want)
			}
			for _, d := range row.demands {
				m.ForgetController(d.name)
			}
			if len(m.demands) > 0 || len(m.shares) > 0 || m.bytes != 0 {
				t.Errorf("kept of deleted ones: %v, %v, %d bytes", m.demands, m.shares, m.bytes)
			}
		})
	}
}

// TestRunningRevisionsCount admits generations of TemplateControllers of one tenant, which may use 100 bytes.
func TestRunningRevisionsCount(t *testing.T) {
	type step struct {
		why, name string
		bytes     int // of the next generation; 0 = none
		revision  string
		current   string // status.currentRevision; status.updateRevision is "2" unless both are empty
		hold      *Held  // after the admission, if any
		admitted  string // all, afterwards
	}
	for why, steps := range map[string][]step{
		"others": {
			{"fits", "a", 40, "1", "", &Held{}, "a"},
			{"replaces the revision that runs", "a", 50, "2", "", &Held{Running: 40}, "a"},
			{"does not fit beside both", "b", 20, "1", "", nil, "a"},
			{"fits beside both", "c", 10, "1", "", nil, "ac"},
			{"the rollout has ended", "a", 0, "", "", &Held{}, "abc"},
		},
		"a third revision": {
			{"fits", "a", 40, "1", "", &Held{}, "a"},
			{"the second is in rollout", "a", 50, "2", "1", &Held{Base: 40}, "a"},
			{"does not fit beside the first", "a", 70, "3", "1", &Held{Running: 50, Base: 40}, ""},
			{"both that run count for others", "b", 11, "1", "", nil, ""},
			{"fits beside the first", "a", 60, "4", "1", &Held{Running: 50, Base: 40}, "a"},
		},
		"a rollout in a full share can be continued and undone": {
			{"fits", "a", 90, "1", "", &Held{}, "a"},
			{"the second is in rollout", "a", 80, "2", "1", &Held{Base: 90}, "a"},
			{"approved", "a", 81, "2", "1", &Held{Base: 90}, "a"},
			{"undone", "a", 91, "1", "1", &Held{Running: 81}, "a"},
			{"does not fit beside the second", "b", 5, "1", "", nil, "a"},
			{"deleted", "a", -1, "", "", nil, "b"},
		},
		"a rejected revision fits once another one is deleted, beside the one that it replaces": {
			{"fits", "a", 50, "1", "", &Held{}, "a"},
			{"fits", "b", 40, "1", "", &Held{}, "ab"},
			{"grows too much", "a", 70, "2", "", &Held{Running: 50}, "b"},
			{"deleted", "b", -1, "", "", nil, "a"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			tenants := queue.NewTenants()
			m := NewMemory(100*tenantShare*share, tenants, func(string) {})
			for i, s := range steps {
				tenants.Set(s.name, &v1.ServiceAccountRef{Namespace: "x", Name: "y"})
				tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: s.name, UID: types.UID(s.name), Generation: int64(i), CreationTimestamp: metav1.Unix(int64(s.name[0]), 0)}}
				if tc.Status.CurrentRevision = s.current; s.current != "" {
					tc.Status.UpdateRevision = "2"
				}
				switch {
				case s.bytes > 0:
					m.Admit(tc, func() (int, string) { return s.bytes, s.revision })
				case s.bytes < 0:
					m.ForgetController(s.name)
				}
				if s.hold != nil {
					m.Hold(s.name, *s.hold)
				}
				admitted, bytes := "", 0
				for _, name := range slices.Sorted(maps.Keys(m.demands)) {
					d := m.demands[name]
					if bytes += d.held.total(); d.admitted {
						admitted, bytes = admitted+name, bytes+d.bytes
					}
				}
				if admitted != s.admitted {
					t.Errorf("%s: admitted are %q, want %q", s.why, admitted, s.admitted)
				}
				if of := m.shares["namespace x"]; m.bytes+m.held != bytes {
					t.Errorf("%s: %d bytes are counted, want %d; the tenant has %+v", s.why, m.bytes+m.held, bytes, of)
				}
			}
			for _, name := range []string{"a", "b", "c"} {
				m.ForgetController(name)
			}
			if len(m.demands) > 0 || len(m.shares) > 0 || m.usage != (usage{}) {
				t.Errorf("kept of deleted ones: %v, %v, %+v", m.demands, m.shares, m.usage)
			}
		})
	}
}

func TestRevisionsInRolloutAreEstimatedAfterRestart(t *testing.T) {
	d := func(name string, bytes int, accepted, rolling bool) *Demand {
		return &Demand{name: name, tenant: "x", bytes: bytes, accepted: accepted, runs: true, rolling: rolling, created: time.Unix(int64(name[0]), 0)}
	}
	for why, row := range map[string]struct {
		demands []*Demand
		want    string
	}{
		"nothing is rolled out":                        {[]*Demand{d("a", 10, true, false), d("b", 10, false, false)}, "ab"},
		"a rollout counts twice":                       {[]*Demand{d("a", 10, true, true), d("b", 10, false, false)}, "a"},
		"accepted ones keep what they have":            {[]*Demand{d("a", 10, true, true), d("b", 10, true, true)}, "ab"},
		"the previous revision of a rejected one runs": {[]*Demand{d("a", 24, false, false), d("b", 10, false, false), d("c", 5, true, false)}, "c"},
	} {
		t.Run(why, func(t *testing.T) {
			m := NewMemory(100*share, queue.NewTenants(), nil)
			m.Begin(row.demands)
			admitted := ""
			for _, d := range row.demands {
				if d.admitted {
					admitted += d.name
				}
			}
			if admitted != row.want {
				t.Errorf("admitted are %q, want %q", admitted, row.want)
			}
		})
	}
}
