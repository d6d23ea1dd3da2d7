package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

// logServer returns a client for a server that serves the log of one container like a kubelet: the last lines, limited from the
// first of these lines on. seen are the requests.
func logServer(t *testing.T, log string) (client *Client, seen *[]string) {
	t.Helper()
	seen = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.URL.String())
		lines, _ := strconv.Atoi(r.URL.Query().Get("tailLines"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limitBytes"))
		all := strings.SplitAfter(log, "\n")
		text := strings.Join(all[max(len(all)-1-lines, 0):], "")
		_, _ = w.Write([]byte(text[:min(len(text), limit)]))
	}))
	t.Cleanup(server.Close)
	return newClient(t, server), seen
}

func newClient(t *testing.T, server *httptest.Server) *Client {
	t.Helper()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestLogReturnsLastLines(t *testing.T) {
	numbered := func(n, width int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%0*d\n", width, i)
		}
		return b.String()
	}
	for name, row := range map[string]struct {
		log      string
		options  request.LogOptions
		want     string
		requests int
	}{
		"short":                        {"a\nb\n", request.LogOptions{TailLines: 20, LimitBytes: 100}, "a\nb\n", 1},
		"last lines":                   {"a\nb\nc\n", request.LogOptions{TailLines: 2, LimitBytes: 100}, "b\nc\n", 1},
		"last bytes of these":          {"a\nbbbb\nc\n", request.LogOptions{TailLines: 2, LimitBytes: 4}, "b\nc\n", 1},
		"long lines":                   {numbered(1000, 1000), request.LogOptions{TailLines: 1000, LimitBytes: 5}, "0999\n", 2},
		"very long lines":              {numbered(100, 50_000), request.LogOptions{TailLines: 100, LimitBytes: 3}, "99\n", 3},
		"one line that is longer":      {strings.Repeat("x", 10<<20) + "\n", request.LogOptions{TailLines: 20, LimitBytes: 4}, "xxxx", 3},
		"no line end":                  {"x", request.LogOptions{TailLines: 20, LimitBytes: 4}, "x", 1},
		"empty":                        {"", request.LogOptions{TailLines: 20, LimitBytes: 4}, "", 1},
		"bytes that are no characters": {"a\xff\xfeb\n", request.LogOptions{TailLines: 20, LimitBytes: 100}, "a\uFFFDb\n", 1},
		"half a character":             {"äb\n", request.LogOptions{TailLines: 20, LimitBytes: 3}, "b\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			client, seen := logServer(t, row.log)
			got, err := client.Log(t.Context(), "ns", "p", "c", row.options)
			if err != nil || got != row.want {
				t.Errorf("Log is %.20q, %v; want %q", got, err, row.want)
			}
			if len(*seen) != row.requests {
				t.Errorf("%d requests, want %d: %q", len(*seen), row.requests, *seen)
			}
			if !utf8.ValidString(got) {
				t.Error("the text is no valid UTF-8")
			}
		})
	}
}

func TestLogIsReadAsImpersonatedUser(t *testing.T) {
	client, seen := serve(t, http.StatusOK, "x\n")
	for _, row := range []struct {
		previous bool
		query    string
	}{
		{false, "container=c&limitBytes=262144&tailLines=7"},
		{true, "container=c&limitBytes=262144&previous=true&tailLines=7"},
	} {
		if _, err := client.As("u").Log(t.Context(), "ns", "p", "c", request.LogOptions{TailLines: 7, LimitBytes: 9, Previous: row.previous}); err != nil {
			t.Fatal(err)
		}
		want := seenRequest{Method: "GET", Path: "/api/v1/namespaces/ns/pods/p/log", Query: row.query, As: "u"}
		if *seen != want {
			t.Errorf("the request is %v, want %v", *seen, want)
		}
	}
}

// A server that ignores limitBytes must not exhaust memory.
func TestLogReadStopsAtByteLimit(t *testing.T) {
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil && sent < 100<<20 {
			n, err := w.Write(slices.Repeat([]byte("x"), 64<<10))
			if sent += n; err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	text, err := newClient(t, server).Log(t.Context(), "ns", "p", "c", request.LogOptions{TailLines: 1, LimitBytes: 16})
	if err != nil || text != strings.Repeat("x", 16) {
		t.Errorf("Log is %q, %v", text, err)
	}
	server.Close() // waits for the handler, so that sent is final
	if sent > 50<<20 {
		t.Errorf("%d bytes were sent before the client had enough", sent)
	}
}

func TestLogReadErrorIsReported(t *testing.T) {
	client, _ := serve(t, http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	if _, err := client.Log(t.Context(), "ns", "p", "c", request.LogOptions{TailLines: 1, LimitBytes: 1}); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v, want the server's", err)
	}
}

func TestLogRequestTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := NewClient(&rest.Config{Host: "http://server", Transport: hanging{}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Log(t.Context(), "ns", "p", "c", request.LogOptions{TailLines: 1, LimitBytes: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want that the deadline has passed", err)
		}
	})
}

// hanging never responds.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
