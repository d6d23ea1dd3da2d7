package observe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
)

// errEnded means that the API server closed a watch, as it does from time to time.
var errEnded = errors.New("the API server has ended the watch")

// Watch calls f in order for every object that appears or changes after the version. It returns nil once f returns
// false or ctx is done. It resumes a watch that the API server closes.
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
			return nil //nolint:nilerr // ended on purpose
		}
		if !errors.Is(err, errEnded) {
			return err
		}
	}
}

// events calls f for all events other than deletions, until it returns false.
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
