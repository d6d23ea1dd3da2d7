package kube

import (
	"context"
	"net/http"
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// dateKey is for the value of a context whose requests note the Date of their answers.
type dateKey struct{}

// dates notes when the API server has answered.
type dates struct{ http.RoundTripper }

func (d dates) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.RoundTripper.RoundTrip(r)
	if at, ok := r.Context().Value(dateKey{}).(*time.Time); ok && err == nil {
		*at, _ = http.ParseTime(answer.Header.Get("Date"))
	}
	return answer, err
}

// GetDated reads an object, and returns the Date of the answer: the time by the clock of the API server, in whole seconds, or zero
// where the answer has none.
func (c *Client) GetDated(ctx context.Context, at request.Location) (*object.Object, time.Time, error) {
	var date time.Time
	o, err := c.Get(context.WithValue(ctx, dateKey{}, &date), at)
	return o, date, err
}
