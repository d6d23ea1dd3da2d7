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
	"time"

	"github.com/chromedp/chromedp"
)

// serveFaulty serves the page with the program of testdata/faulty.
func serveFaulty(t *testing.T) (address string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "faulty.wasm")
	build := exec.Command("go", "build", "-o", out, "./testdata/faulty")
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
		switch r.URL.Path {
		case "/playground.wasm.gz":
			_, _ = w.Write(packed.Bytes()) // the client may be gone
		case "/examples.json":
			http.NotFound(w, r)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestPlaygroundRecoversFromCrash makes the program exit, and loop forever, instead of answering. There are no
// examples.
func TestPlaygroundRecoversFromCrash(t *testing.T) {
	b := open(t)
	b.do(chromedp.Navigate(serveFaulty(t)))
	b.until(`document.documentElement.dataset.ready !== undefined`)
	b.holds(`document.getElementById("summary").textContent`, "Nothing to show")
	for _, row := range []struct{ text, want string }{
		{"end", "templater has stopped, most likely for lack of memory: make texts smaller"},
		{"endless", "templater took longer than 2 s, and was stopped: make loops shorter, or texts smaller"},
	} {
		began := time.Now()
		b.write("parents", row.text)
		b.holds(findings, row.want)
		t.Logf("%s: reported after %s", row.text, time.Since(began).Round(time.Millisecond))
		b.write("parents", "good")
		b.until(findings + ` === ""`)
		t.Logf("%s: answered again after %s", row.text, time.Since(began).Round(time.Millisecond))
	}
}
