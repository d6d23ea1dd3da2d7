package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestSettling measures from own writes, with one clock.
func TestSettling(t *testing.T) {
	at := time.Unix(1767225600, 0)
	for why, row := range map[string]struct {
		changed, now time.Time
		want         time.Duration
	}{
		"it has just been changed":             {at, at, settleTime},
		"it was changed a while ago":           {at, at.Add(2 * time.Second), settleTime - 2*time.Second},
		"it was changed long ago":              {at, at.Add(settleTime), 0},
		"the clock was set back since":         {at, at.Add(-time.Hour), settleTime},
		"another process may have changed it":  {time.Time{}, at.Add(-time.Minute + time.Second), settleTime - time.Second},
		"another process changed it, long ago": {time.Time{}, at, 0},
	} {
		t.Run(why, func(t *testing.T) {
			var s settling
			s.begin(at.Add(-time.Minute))
			if !row.changed.IsZero() {
				s.note("a", row.changed)
			}
			if got := s.left("a", row.now); got != row.want {
				t.Errorf("%s left, want %s", got, row.want)
			}
		})
	}
}

// TestSettlingForgets changes one object after the other, for long.
func TestSettlingForgets(t *testing.T) {
	var s settling
	for i := range 1000 {
		s.note(types.UID(rune('a'+i)), time.Unix(int64(i), 0))
	}
	if most := int(2 * settleTime / time.Second); len(s.changed) > most {
		t.Errorf("%d objects are remembered, want at most %d", len(s.changed), most)
	}
}
