package kube

import (
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// MostRead is how many bytes Read reads. The largest document of an API server has about 3 MB.
const MostRead = 32 << 20

var errTooLarge = errors.New("the answer of the server has more than 32 MiB")

// Read reads what is at a path of the server, with a query maybe, as JSON.
func (c *Client) Read(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestLimit)
	defer cancel()
	r := c.asUser(c.rest.Get()).RequestURI(path).SetHeader("Accept", runtime.ContentTypeJSON)
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, MostRead+1))
	if err == nil && len(text) > MostRead {
		return nil, errTooLarge
	}
	return text, err
}
