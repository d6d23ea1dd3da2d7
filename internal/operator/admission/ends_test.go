package admission

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/render/finding"
)

// counted is a context that counts the calls of Err, and calls do after that many.
type counted struct {
	context.Context //nolint:containedctx // it is a context

	asked, after int
	do           func()
}

func (c *counted) Err() error {
	if c.asked++; c.asked == c.after {
		c.do()
	}
	return c.Context.Err()
}

// TestCheckStopsWhenReviewEnds: the client disconnects, or the time is up, in the middle of a check.
func TestCheckStopsWhenReviewEnds(t *testing.T) {
	const begun, mostLeft = 1000, 100
	for why, row := range map[string]struct {
		end  func(ctx context.Context, cancel func())
		want error
	}{
		"the client is gone":                {func(_ context.Context, cancel func()) { cancel() }, context.Canceled},
		"the time for the answer has ended": {func(ctx context.Context, _ func()) { <-ctx.Done() }, context.DeadlineExceeded},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, cancel := context.WithCancel(t.Context())
				defer cancel()
				var asked *counted
				var ended error
				released := false
				h := newHandler(&Handler{
					Reserve: func(context.Context) (func(), error) { return func() { released = true }, nil },
					Check: func(ctx, _ context.Context, tc *v1.TemplateController) []finding.Finding {
						asked = &counted{Context: ctx, after: begun, do: func() { row.end(ctx, cancel) }}
						_, ended = lint.CheckWith(asked.Err, tc, openapi.BuiltIn())
						return nil
					},
				})
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(client, "POST", Path, strings.NewReader(reviewOf(manifestOf(entries(6, strings.Repeat("{{1}}", 2700))...)))))
				synctest.Wait()
				if !errors.Is(ended, row.want) {
					t.Errorf("the check ends with %v", ended)
				}
				if left := asked.asked - begun; left > mostLeft {
					t.Errorf("it goes on for %d steps", left)
				}
				if !released || len(h.slots) > 0 {
					t.Errorf("the memory is given back: %v; %d places are taken", released, len(h.slots))
				}
			})
		})
	}
}
