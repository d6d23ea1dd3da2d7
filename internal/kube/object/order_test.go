package object

import "testing"

func TestNamesAreOrderedNaturally(t *testing.T) {
	for _, want := range [][]string{
		{"p-2", "p-10"},
		{"p-09", "p-10"},
		{"p-0", "p-1", "p-9", "p-10"},
		{"aa", "b"},    // not by length
		{"a--b", "a."}, // punctuation is not a digit
		{"10", "a"},
		{"p-", "p-1"},
		{"p", "p-1", "p-1-a"}, // prefixes first
		{"p-01", "p-1"},       // equal numbers are compared as text
	} {
		for i := range len(want) - 1 {
			a, b := want[i], want[i+1]
			if compareNatural(a, b) >= 0 || compareNatural(b, a) <= 0 {
				t.Errorf("%s does not stand before %s", a, b)
			}
		}
	}
}
