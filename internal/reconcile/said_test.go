package reconcile

import "testing"

func TestOneCauseIsToldInTheSameWords(t *testing.T) {
	s, key := newSaid(), Key{Controller: "apps"}
	for i, step := range []struct{ why, cause, message, want string }{
		{"the first words", "a", "fields 1 and 2", "fields 1 and 2"},
		{"the server names fewer fields", "a", "field 2", "fields 1 and 2"},
		{"another cause", "b", "field 2", "field 2"},
		{"the first again", "a", "field 2", "field 2"},
	} {
		if got := s.steady(key, step.cause, step.message); got != step.want {
			t.Errorf("step %d, %s: got %q, want %q", i, step.why, got, step.want)
		}
	}
	s.fresh(key, "") // all was well in between
	if got := s.steady(key, "a", "field 1"); got != "field 1" {
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
