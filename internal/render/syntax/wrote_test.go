package syntax

import "testing"

func TestWordsAreMatchedWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "a b": true, "b a": true, "(a)": true, "a:": true, ":a": true, "[a": true, "`a{": true, "@a": true, ";a": true, "\x7fa": true, ",a": true,
		"": false, "ab": false, "ba": false, "0a": false, "9a": false, "a9": false, "a0": false, "za": false, "Aa": false, "Za": false, "_a": false, "-a": false, ".a": false, "/a": false, "éa": false, "aé": false, "\x80a": false, "ab a": true,
	} {
		if got := standsIn(text, "a"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestEmptyWordIsNotFound(t *testing.T) {
	if standsIn("a", "") {
		t.Error("a word without letters is found")
	}
}
