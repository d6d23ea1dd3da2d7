package problem

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestFirstProblemPrefersFaults(t *testing.T) {
	waits, one, two := &Problem{Waiting: true}, &Problem{Reason: v1.ReasonTemplateFailed}, &Problem{Reason: v1.ReasonTemplateError}
	for why, row := range map[string]struct {
		all    List
		first  *Problem
		failed bool // a template failed
	}{
		"there is none":              {nil, nil, false},
		"something is still to come": {List{waits}, waits, false},
		"the first fault":            {List{waits, one, two}, one, true},
		"another sort of fault":      {List{two, waits}, two, true},
		"one that failed as told to": {List{one}, one, true},
		"no template's":              {List{{Reason: v1.ReasonChildRejected}, waits}, nil, false},
	} {
		if got := row.all.First(); row.first != nil && got != row.first || len(row.all) == 0 && got != nil {
			t.Errorf("%s: %+v is shown, want %+v", why, got, row.first)
		}
		if got := row.all.TemplateFailed(); got != row.failed {
			t.Errorf("%s: a template has failed: %v, want %v", why, got, row.failed)
		}
	}
}

func TestWaitingProblemIsHiddenByFault(t *testing.T) {
	fault, waiting := &Problem{Reason: "A", Message: "fault"}, &Problem{Reason: "B", Message: "waiting", Waiting: true}
	for want, all := range map[string]List{"fault": {waiting, fault}, "waiting": {waiting}} {
		if got := all.Message(); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
}

func TestRejectedWritesAreGroupedByReason(t *testing.T) {
	refused := func(why string, writes ...string) (all List) {
		for _, write := range writes {
			all = append(all, &Problem{Write: write, Message: "cannot " + write + ": " + why})
		}
		return all
	}
	for why, row := range map[string]struct {
		all  List
		want string
	}{
		"one":                  {refused("no", "create Pod ns/a"), "cannot create Pod ns/a: no"},
		"two":                  {refused("no", "create Pod ns/a", "create Pod ns/b"), "cannot create Pod ns/a and ns/b: no"},
		"three":                {refused("no", "create Pod c", "create Pod a", "create Pod b"), "cannot create Pod c, a and b: no"},
		"more than are named":  {refused("no", "create Pod a", "create Pod b", "create Pod c", "create Pod d", "create Pod e"), "cannot create Pod a, b, c and 2 more: no"},
		"one twice":            {refused("no", "create Pod a", "create Pod a"), "cannot create Pod a: no"},
		"one of many twice":    {refused("no", "create Pod a", "create Pod b", "create Pod c", "create Pod d", "create Pod d"), "cannot create Pod a, b, c and 1 more: no"},
		"another verb or kind": {refused("no", "create Pod a", "update Pod a", "create Job a"), "cannot create Pod a: no; cannot update Pod a: no; cannot create Job a: no"},
		"another reason":       {append(refused("no", "create Pod a"), refused("never", "create Pod b")...), "cannot create Pod a: no; cannot create Pod b: never"},
		"stopped updates":      {List{{Message: "x", Stopped: []string{"a", "b"}}, {Message: "waits", Waiting: true, Stopped: []string{"e"}}, {Message: "y", Stopped: []string{"c", "d"}}}, "x; y; not updated because of this: a; b; c; and 1 more"},
		"in the order met":     {append(refused("no", "create Pod a"), append(refused("never", "create Pod b"), refused("no", "create Pod c")...)...), "cannot create Pod a and c: no; cannot create Pod b: never"},
		"a name with blanks":   {refused("no", "create ClusterRole a b", "create ClusterRole a c"), "cannot create ClusterRole a b and a c: no"},
		"no name":              {List{{Write: "create Pod", Message: "cannot create Pod: no"}}, "cannot create Pod: no"},
		"something else":       {List{{Message: "no"}, {Message: "no"}, {Message: "never", Write: "create Pod a"}}, "no; never"},
	} {
		if got := row.all.Message(); got != row.want {
			t.Errorf("%s: told %q, want %q", why, got, row.want)
		}
	}
}

func TestSoonestRetryWins(t *testing.T) {
	all := List{{Retry: RetrySlow}, {Retry: RetrySoon}, {Retry: RetryBackoff}}
	if got := all.Retry(); got != RetrySoon {
		t.Errorf("retry %v, want %v", got, RetrySoon)
	}
	if got := (List{}).Retry(); got != RetryOnChange {
		t.Errorf("retry %v where there is no problem", got)
	}
}

func TestSetFaultsReplacesTrailingFaults(t *testing.T) {
	for why, row := range map[string]struct{ message, want string }{
		"they are":     {"cannot: .a: bad", "cannot: .a: bad; .b: bad"},
		"they are not": {"cannot: .a: bad, and more", "cannot: .a: bad, and more"},
	} {
		p := &Problem{Message: row.message, Faults: []string{".a: bad"}}
		if p.SetFaults([]string{".a: bad", ".b: bad"}); p.Message != row.want || (len(p.Faults) == 2) != (row.want != row.message) {
			t.Errorf("%s: %q with faults %q, want %q", why, p.Message, p.Faults, row.want)
		}
	}
}
