package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

// RequestLimit is the timeout of a request that is not a watch, including retries. The API server itself times out after 60 s
// (--request-timeout), so a longer request gets no response.
const RequestLimit = 90 * time.Second

// WatchGrace is how long the client waits after timeoutSeconds for the server to end a watch and deliver its last events.
const WatchGrace = 30 * time.Second

// RetryAfterLimit is the longest Retry-After delay that the client waits for before it retries a request.
const RetryAfterLimit = 5 * time.Second

// ErrorLimit is how much of an error response is read, in bytes. A longer response is reduced to its code and the beginning of
// its message.
const ErrorLimit = 256 << 10

// maxMessageBytes is how much of the message of a too long error response is kept, in bytes.
const maxMessageBytes = 4 << 10

// bounded limits the effect of error responses, which a webhook can write. If Retry-After exceeds RetryAfterLimit, the error is
// returned immediately instead of being retried. At most ErrorLimit bytes of the body are read.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return response, err
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > int(RetryAfterLimit/time.Second) {
		response.Header.Del("Retry-After")
	}
	if response.StatusCode >= http.StatusBadRequest {
		shorten(response)
	}
	return response, nil
}

// shorten replaces the body of an error response by the bytes that were read, or by a shorter Status if it is too long.
func shorten(response *http.Response) {
	read, err := io.ReadAll(io.LimitReader(response.Body, ErrorLimit+1))
	if len(read) > ErrorLimit {
		_ = response.Body.Close() // drops the rest
		read, err = shortStatus(read, response.StatusCode), nil
		response.ContentLength = int64(len(read))
		response.Header.Set("Content-Type", runtime.ContentTypeJSON)
	}
	body := io.Reader(bytes.NewReader(read))
	if err != nil {
		body = io.MultiReader(body, failing{err})
	}
	response.Body = limitedBody{body, response.Body}
}

// shortStatus returns a Status with that code and the beginning of the message in text, which is the beginning of a Status as
// JSON.
func shortStatus(text []byte, code int) []byte {
	status := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false).Status()
	if _, message, ok := bytes.Cut(text, []byte(`"message":"`)); ok {
		status.Message = beginning(message[:min(len(message), maxMessageBytes)])
	}
	status.APIVersion, status.Kind = "v1", "Status"
	short, _ := json.Marshal(status) // cannot fail
	return short
}

// beginning decodes the beginning of a JSON string. text has no opening quote and may be cut off anywhere.
func beginning(text []byte) string {
	quoted := append([]byte{'"'}, text...)
	var out string
	if json.NewDecoder(bytes.NewReader(quoted)).Decode(&out) == nil {
		return out
	}
	const maxEscapeBytes = 12 // \ud83d\ude00
	for cut := range maxEscapeBytes {
		if json.Unmarshal(append(quoted[:max(1, len(quoted)-cut):max(1, len(quoted)-cut)], '"'), &out) == nil {
			break
		}
	}
	return out
}

// failing is the rest of a body whose read failed.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type limitedBody struct {
	io.Reader
	io.Closer
}

// do sends a request with the timeout RequestLimit.
func do(ctx context.Context, r *rest.Request) rest.Result {
	return limited(ctx, r, RequestLimit)
}

func limited(ctx context.Context, r *rest.Request, limit time.Duration) (result rest.Result) {
	if o, ok := request.ObserverOf(ctx); ok {
		o.Asked()
		defer func() {
			text, _ := result.Raw()
			o.Answered(len(text))
		}()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return r.Do(ctx)
}

// limitedWatch is a watch with a deadline. cancel releases the timer.
type limitedWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop stops the watch and releases its timer.
func (w limitedWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}
