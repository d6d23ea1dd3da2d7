package link

import (
	"bytes"
	"io"
	"net/http"
)

// whole hands requests on once all of their body is there. A server may answer without reading it, as the API server does
// with 403. The client then stops sending, a proxy that still reads does not come to an end, and neither does the answer
// that it passes on: https://go.dev/issue/80085. A request that ends early is not handed on.
func whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	})
}
