package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOlderTemplateControllersGetWatchesFirst(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	old, middle, young := WatchDemand{Name: "z", Tenant: "team", Created: at(1)}, WatchDemand{Name: "m", Tenant: "team", Created: at(2)}, WatchDemand{Name: "a", Tenant: "team", Created: at(3)}
	with := func(c WatchDemand, needs ...int) WatchDemand {
		c.Needs = needs
		return c
	}
	elsewhere := with(old, 10)
	elsewhere.Tenant = "other"
	for why, row := range map[string]struct {
		claims  []WatchDemand
		gone    string
		want    string // whether the needs of each are granted
		changed string // TemplateControllers passed to changed
	}{
		"there is room for all":                          {claims: []WatchDemand{with(old, 500), with(young, 500, 24)}, want: "z[true] a[true true]"},
		"the younger one does not fit":                   {claims: []WatchDemand{with(old, 1000), with(young, 25)}, want: "z[true] a[false]"},
		"in whatever order they come":                    {claims: []WatchDemand{with(young, 25), with(old, 1000)}, want: "z[true] a[false]", changed: "a"},
		"of the same age, the name decides":              {claims: []WatchDemand{with(WatchDemand{Name: "b", Tenant: "team"}, 1000), with(WatchDemand{Name: "a", Tenant: "team"}, 25)}, want: "a[true] b[false]", changed: "b"},
		"some of its kinds fit":                          {claims: []WatchDemand{with(old, 128), with(young, 128, 700, 128, 100)}, want: "z[true] a[true true false false]"},
		"a smaller kind fits beside a larger one":        {claims: []WatchDemand{with(old, 128, 1000, 100)}, want: "z[true false true]"},
		"no kind fits without what it cannot do without": {claims: []WatchDemand{with(old, 1025, 1)}, want: "z[false false]"},
		"one that is refused takes nothing":              {claims: []WatchDemand{with(old, 900), with(middle, 200), with(young, 100)}, want: "z[true] m[false] a[true]"},
		"an older one needs more watches":                {claims: []WatchDemand{with(old, 100), with(young, 900), with(old, 100, 100)}, want: "z[true true] a[false]", changed: "a"},
		"an older one is deleted":                        {claims: []WatchDemand{with(old, 1000), with(middle, 500), with(young, 100)}, gone: "z", want: "m[true] a[true]", changed: "m a"},
		"an older one moves to another tenant":           {claims: []WatchDemand{with(old, 1000), with(young, 100), elsewhere}, want: "z[true] a[true]", changed: "a"},
		"other tenants do not count":                     {claims: []WatchDemand{with(young, 1000), elsewhere}, want: "z[true] a[true]"},
		"unknown controller is deleted":                  {claims: []WatchDemand{with(old, 1)}, gone: "nobody", want: "z[true]"},
	} {
		var changed []string
		s := NewWatches(func(name string) { changed = append(changed, name) })
		for _, c := range row.claims {
			s.Claim(c)
		}
		if row.gone != "" {
			s.ForgetController(row.gone)
		}
		var got []string
		for _, name := range []string{"z", "m", "a", "b"} {
			if c := s.claims[name]; c != nil {
				got = append(got, fmt.Sprint(name, c.granted))
				if answer := s.Claim(*c); !slices.Equal(answer, c.granted) {
					t.Errorf("%s: %s is told %v, and has %v", why, name, answer, c.granted)
				}
			}
		}
		if diff := cmp.Diff([]string{row.want, row.changed}, []string{strings.Join(got, " "), strings.Join(changed, " ")}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}
