// Package page serves the page of the playground on localhost. Its sources are in src; make playground builds it into dist.
package page

import (
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
)

// policy prevents the browser from loading anything from elsewhere, and from running other code than the files of the page. The page repeats it, for
// other web servers.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the content types of the files of the page.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".gz":   "application/gzip",
}

// Files returns the files of the page, or nil if the program was built without them.
func Files() fs.FS { return built }

// Handler serves files read-only. It only accepts loopback names in the Host header: another name can be one that
// an attacker points to this machine, so that their page can read this one (DNS rebinding).
func Handler(files fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		switch {
		case !local(r.Host):
			http.Error(w, "open the playground at the address printed at startup", http.StatusMisdirectedRequest)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "the playground is read-only", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		content, err := fs.ReadFile(files, name)
		if err != nil || types[path.Ext(name)] == "" {
			http.Error(w, "the playground has no such file", http.StatusNotFound)
			return
		}
		header.Set("Content-Type", types[path.Ext(name)])
		_, _ = w.Write(content) // the client is gone
	})
}

// local reports whether a Host header, with or without a port, is a loopback name.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}
