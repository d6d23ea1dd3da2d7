package syntax

import (
	"strings"
	"testing"
)

func TestEditDistance(t *testing.T) {
	long := strings.Repeat("a", 64)
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"", "ab"}: 2, {"abc", "abc"}: 0, {"abc", "abd"}: 1, {"abc", "ab"}: 1, {"ab", "abc"}: 1, {"abc", "bc"}: 1, {"abc", "acb"}: 1, {"ab", "ba"}: 1,
		{"abcd", "badc"}: 2, {"ca", "abc"}: 3, {"abc", "xyz"}: 3, {"abab", "baba"}: 2, {"axb", "bxa"}: 2, {"abc", "axyc"}: 2, {"aab", "cba"}: 2, {"aa", "ba"}: 1, {"ab", "cb"}: 1, {"ab", "bc"}: 2, {"ba", "cb"}: 2,
		{long, long}: 0, {long + "a", long}: 64, {long, long + "a"}: 64, {long[1:], long}: 1,
	} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("%q: %d, want %d", pair, got, want)
		}
	}
	for word, want := range map[string]string{"SHA2": "; did you mean sha256sum?", "sha256": "; did you mean sha256sum?", "sha": "", "ad": "", "add": "; did you mean addrest?", "sha256sums": "; did you mean sha256sum?", "b64": ""} {
		if got := DidYouMean(Nearest(word, []string{"addrest", "b64dec", "b64enc", "sha1sum", "sha256sum"})); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]string{"STATUS": "; did you mean status?", "spec": "; did you mean spec?", "sp": "", "xpecs": "", "x": "", "spe": "; did you mean spec?", "statu": "; did you mean status?"} {
		if got := DidYouMean(Nearest(word, []string{"spec", "status"})); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
