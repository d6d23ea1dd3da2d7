package leader

import (
	"context"
	"errors"
	"testing"
)

func TestCanceledRequestKeepsEarlierLockError(t *testing.T) {
	refused := errors.New("refused")
	ended, end := context.WithCancel(t.Context())
	end()
	l := &lock{}
	l.note(t.Context(), refused)
	if l.note(ended, context.DeadlineExceeded); !errors.Is(l.err, refused) {
		t.Errorf("remembered %v, want %v", l.err, refused)
	}
	if l.note(t.Context(), nil); l.err != nil {
		t.Errorf("remembered %v after a success, want nothing", l.err)
	}
}
