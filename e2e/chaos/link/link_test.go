package link

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bed is a link to a server that counts the requests that it has executed.
type bed struct {
	*Link
	client *http.Client
	served atomic.Int64
	agents sync.Map // of the last request, by method
}

func newBed(t *testing.T) *bed {
	t.Helper()
	var b *bed
	b = newBedFor(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		if r.URL.Path == "/watch" || r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, "begun ")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		b.agents.Store(r.Method, r.UserAgent())
		_, _ = io.WriteString(w, "hello")
	})))
	return b
}

// newBedFor starts the server, which speaks HTTP/2 as the API server does.
func newBedFor(t *testing.T, server *httptest.Server) *bed {
	t.Helper()
	b := &bed{}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	l, err := Start(server.URL, server.Client().Transport, server.TLS.Certificates[0])
	if err != nil {
		t.Fatal(err)
	}
	b.Link = l
	b.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test
	}}
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// request returns the status code, 0 for none, and the body.
func (b *bed) request(t *testing.T, method string) (int, string) {
	t.Helper()
	code, text, err := b.send(t.Context(), method, nil)
	if err != nil {
		return 0, err.Error()
	}
	return code, text
}

// send sends a request, and returns the status code and the body.
func (b *bed) send(ctx context.Context, method string, body io.Reader) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.URL()+"/", body)
	if err != nil {
		return 0, "", err
	}
	response, err := b.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func (b *bed) expect(t *testing.T, method string, want int) string {
	t.Helper()
	code, text := b.request(t, method)
	if code != want {
		t.Fatalf("%s: answer %d %s, want %d", method, code, text, want)
	}
	return text
}

// until repeats requests until one is affected.
func (b *bed) until(t *testing.T, method string, f Fault) (int, string) {
	t.Helper()
	for before := b.Hits(f); ; {
		code, text := b.request(t, method)
		if b.Hits(f) > before {
			return code, text
		}
		if code != http.StatusOK {
			t.Fatalf("a request that was not hit is answered %d %s", code, text)
		}
	}
}

func TestProxyInjectsErrorResponses(t *testing.T) {
	b := newBed(t)
	if text := b.expect(t, http.MethodGet, http.StatusOK); text != "hello" {
		t.Errorf("got %q", text)
	}
	for f, want := range map[Fault]int{TooMany: 429, ServerError: 500} {
		end := b.Begin(f)
		if code, text := b.until(t, http.MethodGet, f); code != want || !strings.Contains(text, `"kind":"Status"`) {
			t.Errorf("%s: answer %d %s", f, code, text)
		}
		end()
		for range 10 {
			b.expect(t, http.MethodGet, http.StatusOK)
		}
	}
}

func TestProxyDropsResponsesOfCompletedWrites(t *testing.T) {
	b := newBed(t)
	defer b.Begin(DropAnswers)()
	before := b.served.Load()
	if code, text := b.until(t, http.MethodPatch, DropAnswers); code != 0 {
		t.Errorf("answer %d %s, want none", code, text)
	}
	if b.served.Load() == before {
		t.Error("the write was not carried out")
	}
	for range 10 {
		b.expect(t, http.MethodGet, http.StatusOK)
	}
}

func TestProxyCutsConnections(t *testing.T) {
	b := newBed(t)
	response, err := b.client.Get(b.URL() + "/watch") //nolint:noctx // it is cut
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	end := b.Begin(Cut)
	again := b.Begin(Cut)
	if text, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("a watch ends well when it is cut: %q", text)
	}
	again()
	if code, _ := b.request(t, http.MethodGet); code != 0 {
		t.Errorf("answer %d while one of two cuts lasts", code)
	}
	end()
	end() // has no effect
	b.expect(t, http.MethodGet, http.StatusOK)
}

func TestProxyStallsConnections(t *testing.T) {
	b := newBed(t)
	b.expect(t, http.MethodGet, http.StatusOK)
	end := b.Begin(Stall)
	served := b.served.Load()
	answered := make(chan int, 1)
	go func() {
		code, _ := b.request(t, http.MethodGet)
		answered <- code
	}()
	select {
	case code := <-answered:
		t.Errorf("answer %d through a stalled connection", code)
	case <-time.After(50 * time.Millisecond): // long enough to detect one that is not stalled
	}
	if b.served.Load() != served {
		t.Error("a request came through")
	}
	end()
	if code := <-answered; code != http.StatusOK {
		t.Errorf("answer %d when the stall is over", code)
	}
}

func TestProxyMarksDelayedWrites(t *testing.T) {
	b := newBed(t)
	b.expect(t, http.MethodGet, http.StatusOK) // there is a connection
	end := b.Begin(Stall)
	answered := make(chan int, 1)
	go func() {
		code, _ := b.request(t, http.MethodPatch)
		answered <- code
	}()
	<-time.After(travel + time.Second) // the extra second lets the request get under way
	select {
	case code := <-answered:
		t.Fatalf("answer %d through a stalled connection", code)
	default:
	}
	end()
	if code := <-answered; code != http.StatusOK {
		t.Fatalf("answer %d after the stall", code)
	}
	agent := func(method string) string {
		agent, _ := b.agents.Load(method)
		text, _ := agent.(string)
		return text
	}
	if got := agent(http.MethodPatch); !strings.HasSuffix(got, LateMark) {
		t.Errorf("the user agent is %q, want that it ends with %q", got, LateMark)
	}
	<-time.After(aftermath)
	b.expect(t, http.MethodPatch, http.StatusOK)
	b.expect(t, http.MethodGet, http.StatusOK)
	if got := agent(http.MethodPatch) + agent(http.MethodGet); strings.Contains(got, LateMark) {
		t.Errorf("user agents long after a stall: %q", got)
	}
}

func TestProxyClosesWhileStalled(t *testing.T) {
	b := newBed(t)
	b.expect(t, http.MethodGet, http.StatusOK)
	b.Begin(Stall)
}

func TestProxyRejectsWatchesOfOneResource(t *testing.T) {
	b := newBed(t)
	get := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b.client.Do(r)
	}
	expect := func(path string, want int, text string) {
		t.Helper()
		response, err := get(path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want || !strings.Contains(string(body), text) {
			t.Errorf("%s: %d %s, %v; want %d %s", path, response.StatusCode, body, err, want, text)
		}
	}
	hit, err := get("/api/v1/namespaces/a/configmaps?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer hit.Body.Close()
	missed, err := get("/apis/example.org/v1/namespaces/a/configmaps/one?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer missed.Body.Close()
	end := b.RefuseWatches("configmaps", http.StatusForbidden)
	if _, err := io.ReadAll(hit.Body); os.IsTimeout(err) { // it may end with or without an error
		t.Errorf("a watch of the resource is not ended: %v", err)
	}
	begun := make([]byte, len("begun "))
	if _, err := io.ReadFull(missed.Body, begun); err != nil {
		t.Errorf("another watch has ended: %v", err)
	}
	expect("/api/v1/configmaps", http.StatusForbidden, `cannot list resource \"configmaps\"`)
	expect("/api/v1/namespaces/a/configmaps/one", http.StatusOK, "hello")
	expect("/api/v1/namespaces", http.StatusOK, "hello")
	gone := b.RefuseWatches("namespaces", http.StatusGone)
	expect("/api/v1/namespaces", http.StatusGone, `"reason":"Expired"`)
	gone()
	end()
	end() // has no effect
	expect("/api/v1/configmaps", http.StatusOK, "hello")
	expect("/api/v1/namespaces", http.StatusOK, "hello")
}

// TestProxyDelaysWatchEvents has a response that begins immediately, and whose body follows later.
func TestProxyDelaysWatchEvents(t *testing.T) {
	b := newBed(t)
	get := func(path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	before := get("/api/v1/configmaps?watch=true")
	end := b.HoldWatches("configmaps")
	if _, err := io.ReadAll(before.Body); os.IsTimeout(err) {
		t.Errorf("a watch of the resource is not ended: %v", err)
	}
	held, came := get("/api/v1/configmaps"), make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(held.Body) // an error shows in the text
		came <- string(text)
	}()
	if code, text := b.request(t, http.MethodPost); code != http.StatusOK || text != "hello" {
		t.Errorf("another request is answered %d %s", code, text)
	}
	select {
	case text := <-came:
		t.Errorf("%q came while it was held", text)
	default:
	}
	end()
	end() // has no effect
	if text := <-came; text != "hello" || held.StatusCode != http.StatusOK {
		t.Errorf("got %d %q afterwards", held.StatusCode, text)
	}
}

// TestProxyShiftsDateHeader simulates a wrong server clock.
func TestProxyShiftsDateHeader(t *testing.T) {
	b := newBed(t)
	off := func() time.Duration {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		at, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(at).Round(time.Hour)
	}
	if got := off(); got != 0 {
		t.Errorf("the date is %s ahead", got)
	}
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		end := b.ShiftDates(by)
		if got := off(); got != by {
			t.Errorf("the date is %s ahead, want %s", got, by)
		}
		end()
	}
	if got := off(); got != 0 {
		t.Errorf("the date is %s ahead afterwards", got)
	}
}
