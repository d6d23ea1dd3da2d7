package page

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

var files = fstest.MapFS{
	"index.html": {Data: []byte("<!doctype html>")}, "page.js": {Data: []byte("1")}, "notes.txt": {Data: []byte("x")}, "folder/a.js": {Data: []byte("2")},
}

func ask(method, host, path string) *http.Response {
	r := httptest.NewRequest(method, "http://x"+path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	Handler(files).ServeHTTP(w, r)
	return w.Result()
}

func TestHandlerServesOnlyEmbeddedFiles(t *testing.T) {
	for path, want := range map[string]int{
		"/": 200, "/index.html": 200, "/page.js": 200, "/folder/a.js": 200, "/folder": 404, "/notes.txt": 404, "/no.js": 404, "/../page.js": 404, "//page.js": 404,
	} {
		if got := ask(http.MethodGet, "127.0.0.1:1", path).StatusCode; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

func TestHandlerRejectsForeignHosts(t *testing.T) {
	for host, want := range map[string]int{
		"127.0.0.1:8090": 200, "localhost:8090": 200, "[::1]:8090": 200, "localhost": 200, "[::1]": 200,
		"evil.example:8090": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:1": 421, "192.0.2.1:8090": 421, "": 421, "0.0.0.0:8090": 421,
	} {
		if got := ask(http.MethodGet, host, "/").StatusCode; got != want {
			t.Errorf("Host %q: %d, want %d", host, got, want)
		}
	}
}

func TestHandlerRejectsWriteMethods(t *testing.T) {
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405, "CONNECT": 405} {
		if got := ask(method, "localhost", "/").StatusCode; got != want {
			t.Errorf("%s: %d, want %d", method, got, want)
		}
	}
}

func TestHandlerSetsSecurityHeaders(t *testing.T) {
	for _, path := range []string{"/", "/none"} {
		header := ask(http.MethodGet, "localhost", path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Access-Control-Allow-Origin": "",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", path, name, got, want)
			}
		}
	}
	page, err := os.ReadFile("src/index.html")
	if err != nil {
		t.Fatal(err)
	}
	inPage := strings.TrimSuffix(policy, "; frame-ancestors 'none'") // which only a header can say
	if !strings.Contains(string(page), `content="`+inPage+`"`) {
		t.Errorf("src/index.html does not have the policy %s", inPage)
	}
}
