package problem

import "testing"

func TestWordListsAreJoined(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := Or(words); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := And([]string{"a", "b", "c"}); got != "a, b and c" {
		t.Errorf("got %q", got)
	}
}

func TestCountPluralizes(t *testing.T) {
	for n, want := range []string{"0 policies", "1 policy", "2 policies"} {
		if got := Count(n, "policy", "policies"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
