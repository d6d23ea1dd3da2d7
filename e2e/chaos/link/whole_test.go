package link

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sync/errgroup"
)

func TestEarlyResponsesArriveComplete(t *testing.T) {
	answer := strings.Repeat("no", 400)
	b := newBedFor(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, answer)
	})))
	ask := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		code, text, err := b.send(ctx, http.MethodPatch, strings.NewReader(strings.Repeat("please", 200)))
		if err == nil && (code != http.StatusForbidden || text != answer) {
			t.Errorf("answer %d with %d bytes", code, len(text))
		}
		return err
	}
	some, ctx := errgroup.WithContext(t.Context())
	for range 8 {
		some.Go(func() error {
			for range 500 {
				if err := ask(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := some.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTruncatedRequestsAreNotForwarded(t *testing.T) {
	handler := whole(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("half a request was handed on") }))
	body := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the handler ends with %v, want %v", err, http.ErrAbortHandler)
		}
	}()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/", body))
}
