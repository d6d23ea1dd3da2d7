package readiness

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestSettleTimeLeftAfterOwnWrite measures the time since writes of this process, with one clock.
func TestSettleTimeLeftAfterOwnWrite(t *testing.T) {
	at := time.Unix(1767225600, 0)
	for why, row := range map[string]struct {
		changed, now time.Time
		want         time.Duration
	}{
		"it has just been changed":             {at, at, SettleTime},
		"it was changed a while ago":           {at, at.Add(2 * time.Second), SettleTime - 2*time.Second},
		"it was changed long ago":              {at, at.Add(SettleTime), 0},
		"the clock was set back since":         {at, at.Add(-time.Hour), SettleTime},
		"another process may have changed it":  {time.Time{}, at.Add(-time.Minute + time.Second), SettleTime - time.Second},
		"another process changed it, long ago": {time.Time{}, at, 0},
	} {
		t.Run(why, func(t *testing.T) {
			var s Settling
			s.Begin(at.Add(-time.Minute))
			if !row.changed.IsZero() {
				s.Note("a", row.changed)
			}
			if got := s.left("a", row.now); got != row.want {
				t.Errorf("%s left, want %s", got, row.want)
			}
		})
	}
}

// TestSettlingForgetsOldChanges changes many objects over a long time.
func TestSettlingForgetsOldChanges(t *testing.T) {
	var s Settling
	for i := range 1000 {
		s.Note(types.UID(rune('a'+i)), time.Unix(int64(i), 0))
	}
	if most := int(2 * SettleTime / time.Second); len(s.changed) > most {
		t.Errorf("%d objects are remembered, want at most %d", len(s.changed), most)
	}
}
