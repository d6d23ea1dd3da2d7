package observe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
)

// errEnded says that the API server has ended a watch, as it does now and then.
var errEnded = errors.New("the API server has ended the watch")

// Watch calls f for every object that appears or changes after the version, in
// order. It returns nil once f or ctx ends it; the watch ends when f returns false. A
// watch that the API server ends is taken up again.
func (c *Client) Watch(ctx context.Context, set Set, version string, f func(*Object) bool) error {
	for {
		query := url.Values{"watch": {"true"}, "resourceVersion": {version}, "timeoutSeconds": {"86400"}}
		err := c.get(ctx, set, query, func(body io.Reader) error {
			return events(body, func(o *Object) bool {
				version = o.Metadata.ResourceVersion
				return f(o)
			})
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was ended on purpose
		}
		if !errors.Is(err, errEnded) {
			return err
		}
	}
}

// events calls f for every event but those of deletions, until it returns false.
func events(body io.Reader, f func(*Object) bool) error {
	for decoder := json.NewDecoder(body); ; {
		var event struct {
			Type   string `json:"type"`
			Object Object `json:"object"`
		}
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF):
			return errEnded
		case err != nil:
			return err
		case event.Type == "ERROR":
			return errors.New("the API server cannot go on with the watch, probably since too much has changed meanwhile: try again")
		case event.Type != "DELETED" && !f(&event.Object):
			return nil
		}
	}
}
