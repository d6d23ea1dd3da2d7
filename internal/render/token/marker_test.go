package token

import "testing"

// TestChooseMarkerAvoidsTextsAndEscapes chooses one that is in no text, nor may be read from an escape there.
func TestChooseMarkerAvoidsTextsAndEscapes(t *testing.T) {
	all := ""
	for r := firstMarker; r < lastMarker; r++ {
		all += string(r)
	}
	for want, texts := range map[string][]string{
		"\ue000":           {"", "a\ud7ffb", `\ue00 \U0001e000`},
		"\ue001":           {"a\ue000"},
		"\ue003":           {"\ue001\ue000", `"\uE002"`},
		"\ue002":           {`"\U0000e000\ue001"`},
		string(lastMarker): {all},
		"":                 {all, string(lastMarker)},
	} {
		if got := ChooseMarker(texts); got != want {
			t.Errorf("%q: %q, want %q", want, got, want)
		}
	}
}
