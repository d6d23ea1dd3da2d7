package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

// silentServer returns a server that does not respond before the test ends.
func silentServer(t *testing.T) *httptest.Server {
	t.Helper()
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(silent)
		server.Close()
	})
	return server
}

// requests counts requests and responses.
type requests struct{ asked, answered int }

// sized records the size of a response.
type sized struct{ size int }

func (*sized) Asked()              {}
func (s *sized) Answered(size int) { s.size = size }

func TestObserverReceivesResponseSize(t *testing.T) {
	for code, why := range map[int]string{http.StatusOK: "an object", http.StatusConflict: "an error"} {
		client, _ := serve(t, code, answered)
		var noted sized
		_, _ = client.Get(request.WithObserver(t.Context(), &noted), a)
		if noted.size != len(answered) {
			t.Errorf("%s: the answer has %d bytes, and %d are told", why, len(answered), noted.size)
		}
	}
}

func (r *requests) Asked()       { r.asked++ }
func (r *requests) Answered(int) { r.answered++ }

func TestUnansweredRequestTimesOut(t *testing.T) {
	server := silentServer(t)
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var noted requests
	ctx := request.WithObserver(t.Context(), &noted)
	err = limited(ctx, on(client.rest.Get(), a), 10*time.Millisecond).Error()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want that the deadline has passed", err)
	}
	if noted != (requests{1, 1}) {
		t.Error("the end of the request was not noted")
	}
}

// later responds to all requests with 429 and a Retry-After header.
type later struct {
	seconds string
	asked   int
}

func (l *later) RoundTrip(r *http.Request) (*http.Response, error) {
	l.asked++
	header := http.Header{"Retry-After": {l.seconds}, "Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: http.NoBody, Request: r}, nil
}

// TestLongRetryAfterIsNotRetried covers webhooks, which can set the response of the API server, including Retry-After.
func TestLongRetryAfterIsNotRetried(t *testing.T) {
	for seconds, want := range map[string]int{"1": 11, "5": 11, "6": 1, "3600": 1, "99999999999999999999": 1, "tomorrow": 1} {
		t.Run(seconds, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &later{seconds: seconds}
				client, err := NewClient(&rest.Config{Host: "http://server.test", Transport: server, QPS: -1})
				if err != nil {
					t.Fatal(err)
				}
				if _, err = client.Get(t.Context(), a); request.Code(err) != http.StatusTooManyRequests {
					t.Errorf("got error %v, want the answer of the server", err)
				}
				if server.asked != want {
					t.Errorf("%d requests, want %d", server.asked, want)
				}
			})
		})
	}
}

func TestObserverReceivesAllRequestsExceptWatches(t *testing.T) {
	client, _ := serve(t, http.StatusOK, answered)
	there, err := client.Get(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	var noted requests
	ctx := request.WithObserver(t.Context(), &noted)
	for name, call := range map[string]func() error{
		"get":          func() error { _, err := client.Get(ctx, a); return err },
		"apply":        func() error { _, err := client.Apply(ctx, a, []byte("{}"), "m"); return err },
		"apply status": func() error { _, err := client.ApplyStatus(ctx, a, []byte("{}"), "m", true); return err },
		"delete": func() error {
			return client.Delete(ctx, a, request.Deletion{UID: "u", Propagation: metav1.DeletePropagationBackground})
		},
		"set finalizers": func() error { _, err := client.SetFinalizers(ctx, a, there.ResourceVersion(), nil); return err },
		"set metadata":   func() error { _, err := client.SetMetadata(ctx, a, request.Metadata{UID: "u"}, "m"); return err },
	} {
		before := noted
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if noted != (requests{before.asked + 1, before.answered + 1}) {
			t.Errorf("%s: %+v requests are noted, and %+v were before", name, noted, before)
		}
	}
	before := noted
	w, err := client.Watch(ctx, a.Resource, "", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	if noted != before {
		t.Error("a watch was noted as a request that ended")
	}
}

func TestBeginningOfJSONString(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"abc":                "abc",
		`a\"b`:               `a"b`,
		`abc","reason":"x"}`: "abc",
		`abc\`:               "abc",
		`abc\u00`:            "abc",
		`abc\ud83d\ude0`:     "abc\ufffd",
		"abc\xe2\x82":        "abc\ufffd\ufffd",
	} {
		if got := beginning([]byte(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestLongErrorResponseIsCutOff has an endless error response, which a webhook that denies a request can cause.
func TestLongErrorResponseIsCutOff(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"admission webhook \"a.example.org\" denied the request: `)
		part := bytes.Repeat([]byte("x"), 64<<10)
		for r.Context().Err() == nil && sent.Load() < 1<<30 {
			n, err := w.Write(part)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var noted sized
	_, err = client.Get(request.WithObserver(t.Context(), &noted), a)
	if text := fmt.Sprint(err); !apierrors.IsForbidden(err) || len(text) > maxMessageBytes || !strings.HasPrefix(text, `admission webhook "a.example.org" denied the request: xxx`) {
		t.Errorf("error %.300s, want the beginning of one that is Forbidden", text)
	}
	if noted.size > ErrorLimit {
		t.Errorf("%d bytes are read, want at most %d", noted.size, ErrorLimit)
	}
}
