package browser

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPlaygroundSaysThatTheProgramHasEnded serves a program that ends in place of an answer.
func TestPlaygroundSaysThatTheProgramHasEnded(t *testing.T) {
	out := filepath.Join(t.TempDir(), "ended.wasm")
	build := exec.Command("go", "build", "-o", out, "./testdata/ended")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	body, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(body) // to memory
	_ = w.Close()
	files := http.FileServer(http.Dir(*static))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/playground.wasm.gz" {
			_, _ = w.Write(packed.Bytes()) // who went away does not need it
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := open(t)
	b.do(chromedp.Navigate(server.URL))
	b.until(findings + ` !== ""`)
	b.holds(findings, "templater has stopped, most likely for lack of memory: make texts smaller")
}
