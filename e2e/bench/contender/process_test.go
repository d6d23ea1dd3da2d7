package contender

import (
	"strings"
	"testing"
)

func TestProcessDiagnosticsIncludeStateAndLog(t *testing.T) {
	p, err := start("sleeper", t.TempDir(), "sh", "-c", "echo well rested; kill -STOP $$; echo up again; sleep 100")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.says(t.Context(), "well rested"); err != nil {
		t.Fatal(err)
	}
	got := p.Account()
	for _, want := range []string{"the sleeper was in state", "well rested"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if p.Ended() == nil {
		t.Error("it still runs")
	}
}
