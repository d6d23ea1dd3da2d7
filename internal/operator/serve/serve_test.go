package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// get returns the status code and the body of a response.
func get(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestServerServesUntilClosed(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := Listen(t.Context(), Options{Name: "greetings", Address: "127.0.0.1:0", Handler: http.HandlerFunc(hello)})
	if err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, s, "/"); code != http.StatusOK || body != "hello" {
		t.Errorf("%d %q", code, body)
	}
	s.Close(t.Context())
	again, err := Listen(t.Context(), Options{Name: "greetings", Address: s.Address(), Handler: http.HandlerFunc(hello)})
	if err != nil {
		t.Fatalf("the address is not free after Close: %v", err)
	}
	again.Close(t.Context())
}

func TestCloseWaitsForActiveRequests(t *testing.T) {
	defer goleak.VerifyNone(t)
	begun, closing := make(chan struct{}), make(chan struct{})
	s, err := Listen(t.Context(), Options{Name: "greetings", Address: "127.0.0.1:0", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-closing
		hello(w, r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	s.server.RegisterOnShutdown(func() { close(closing) })
	got := make(chan string)
	go func() {
		_, body := get(t, s, "/")
		got <- body
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as when the operator is stopped
	go s.Close(ctx)
	if body := <-got; body != "hello" {
		t.Errorf("the request under way got %q", body)
	}
	<-s.ended
}

func TestListenFailsIfAddressIsInUse(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := Listen(t.Context(), Options{Name: "greetings", Address: "127.0.0.1:0", Handler: http.HandlerFunc(hello)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	_, err = Listen(t.Context(), Options{Name: "metrics", Address: s.Address(), Handler: http.HandlerFunc(hello)})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "cannot serve metrics: listen tcp "+s.Address()) {
		t.Errorf("error is %v", err)
	}
}

func TestProfiles(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := Listen(t.Context(), Options{Name: "profiles", Address: "127.0.0.1:0", Handler: Profiles()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	for path, want := range map[string]string{
		"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile:", "/debug/pprof/cmdline": "serve.test", "/debug/pprof/symbol": "num_symbols",
		"/debug/pprof/heap?debug=1": "heap profile:",
	} {
		if code, body := get(t, s, path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s answers %d without %q", path, code, want)
		}
	}
	if code, _ := get(t, s, "/"); code != http.StatusNotFound {
		t.Errorf("/ answers %d", code)
	}
}
