package reconcile

import "testing"

func TestFaultsThatTheServerNamesInTurnAreToldTogether(t *testing.T) {
	s, key := newSaid(), Key{Controller: "apps"}
	for i, step := range []struct{ why, about, found, want string }{
		{"the first", "a", ".y: bad", "cannot: .y: bad"},
		{"another one of the same object", "a", ".x: bad", "cannot: .x: bad; .y: bad"},
		{"the first again", "a", ".y: bad", "cannot: .x: bad; .y: bad"},
		{"another object", "b", ".y: bad", "cannot: .y: bad"},
	} {
		p := &Problem{Message: "cannot: " + step.found, Faults: []string{step.found}}
		for range 2 { // telling it twice changes nothing
			p.tell(s.all(key, step.about, p.Faults))
		}
		if p.Message != step.want {
			t.Errorf("step %d, %s: got %q, want %q", i, step.why, p.Message, step.want)
		}
	}
	s.fresh(key, "") // all is well
	if got := s.all(key, "b", []string{".z: bad"}); len(got) != 1 {
		t.Errorf("after all was well: got %q", got)
	}
}

func TestNamesThatNoObjectCanHaveAreNotTold(t *testing.T) {
	for name, want := range map[string]string{
		"my-name.example.org":    "my-name.example.org",
		"system:node":            "system:node",
		"a\n" + secret:           "…",
		secret + " " + secret:    "…",
		"":                       "…",
		"-" + secret:             "…",
		string(make([]byte, 99)): "…",
	} {
		if got := publicName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
