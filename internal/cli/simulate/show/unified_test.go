package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnifiedDiffOfLastLine(t *testing.T) {
	const want = "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a: 1\n-b: 1\n+b: 2\n"
	if diff := cmp.Diff(want, Unified("x", "y", "a: 1\nb: 1\n", "a: 1\nb: 2\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Unified("x", "y", "a\n", "a\n"); got != "" {
		t.Errorf("got %q of the same text", got)
	}
}
