package kube

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube/request"
)

// silentServer returns a server that answers nobody before the end of the test.
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

// requests counts requests.
type requests struct{ asked, answered int }

// sized notes how many bytes an answer has.
type sized struct{ size int }

func (*sized) Asked()              {}
func (s *sized) Answered(size int) { s.size = size }

func TestTheSizeOfAnAnswerIsTold(t *testing.T) {
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

func TestARequestWithoutAnAnswerEnds(t *testing.T) {
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

// later answers all requests with 429, and asks to wait that long.
type later struct {
	seconds string
	asked   int
}

func (l *later) RoundTrip(r *http.Request) (*http.Response, error) {
	l.asked++
	header := http.Header{"Retry-After": {l.seconds}, "Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: http.NoBody, Request: r}, nil
}

// TestALongRetryAfterIsLeftToTheCaller has a webhook, which decides what the API server answers, ask for a pause.
func TestALongRetryAfterIsLeftToTheCaller(t *testing.T) {
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

func TestEveryRequestButAWatchIsNoted(t *testing.T) {
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
