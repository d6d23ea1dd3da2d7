package main

import "testing"

func TestSeedFlag(t *testing.T) {
	for text, want := range map[string]string{
		"7":       "",
		"1:2,5":   "",
		"x":       `invalid seed "x": use a number of at least 0`,
		"1:0,5":   `invalid number of rounds "0": use a number of at least 1`,
		"1:2":     `"1:2": all seeds but the last have a number of rounds, as in 1:4,2:4,0`,
		"1,2":     `"1,2": all seeds but the last have a number of rounds, as in 1:4,2:4,0`,
		"1:2,3:,": `invalid number of rounds "": use a number of at least 1`,
	} {
		s := &seeds{}
		got := ""
		if err := s.Set(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got == "" && s.String() != text {
			t.Errorf("%q is printed as %q", text, s)
		}
	}
}

func TestSeedSequenceRestartsPerSeed(t *testing.T) {
	numbers := func(text string) (out []uint64) {
		s := &seeds{}
		if err := s.Set(text); err != nil {
			t.Fatal(err)
		}
		for round := range 5 {
			out = append(out, s.source(round).Uint64())
		}
		return out
	}
	both, first, second := numbers("3:2,4"), numbers("3"), numbers("4")
	for round := range 5 {
		want := first[round]
		if round >= 2 {
			want = second[round-2]
		}
		if both[round] != want {
			t.Errorf("round %d is not drawn from its seed", round+1)
		}
	}
}

func TestRandomSeedsDiffer(t *testing.T) {
	a, b := &seeds{}, &seeds{}
	a.choose()
	b.choose()
	if a.String() == b.String() || a.secret() == b.secret() {
		t.Error("two fresh seeds are the same")
	}
}
