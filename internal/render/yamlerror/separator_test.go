package yamlerror

import "testing"

func TestSeparators(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, "\n": true, "\r\n": true, " ": true, "\t# x": true, " {a: b}\n": true,
		"-": false, ".": false, "a": false, "#": false, "\v": false,
	} {
		if got := BeginsDocument("---" + line); got != want {
			t.Errorf("---%q begins a document: %v, want %v", line, got, want)
		}
		if got := EndsDocument("..." + line); got != want {
			t.Errorf("...%q ends a document: %v, want %v", line, got, want)
		}
	}
	for _, line := range []string{"", "--", " ---", "a", "..", " ..."} {
		if BeginsDocument(line) || EndsDocument(line) {
			t.Errorf("%q stands between documents", line)
		}
	}
	if BeginsDocument("...") || EndsDocument("---") {
		t.Error("the two are taken for each other")
	}
}
