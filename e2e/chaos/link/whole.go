package link

import (
	"bytes"
	"io"
	"net/http"
)

// whole forwards a request once its body is complete. A server may respond without reading the body, as the API server
// does with 403. The client then stops sending, and a proxy that is still reading hangs, as does the response that it
// forwards: https://go.dev/issue/80085. A request that ends early is not forwarded.
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
