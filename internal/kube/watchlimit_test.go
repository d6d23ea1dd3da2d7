package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// silent is a server that never ends a watch. It sends headers, if it responds at all, and one event.
type silent struct {
	answers bool
	ended   chan struct{} // closed when the client has canceled the request; nil = unused
}

const added = `{"type":"ADDED","object":` + answered + "}\n"

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.answers {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, w := io.Pipe()
	go func() {
		_, _ = io.Copy(w, bytes.NewReader([]byte(added)))
		<-r.Context().Done()
		w.CloseWithError(r.Context().Err())
		if s.ended != nil {
			close(s.ended)
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
}

// TestHangingWatchTimesOut proves that a hanging server does not prevent the next list of a cache.
func TestHangingWatchTimesOut(t *testing.T) {
	for why, row := range map[string]struct {
		server silent
		events int
		want   error
	}{
		"the server sends nothing after an event": {silent{answers: true}, 1, nil},
		"the server does not answer":              {silent{}, 0, context.DeadlineExceeded},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := NewClient(&rest.Config{Host: "http://server", Transport: row.server})
				if err != nil {
					t.Fatal(err)
				}
				begin, seconds, events := time.Now(), int64(300), 0
				w, err := client.Watch(t.Context(), a.Resource, "ns", metav1.ListOptions{TimeoutSeconds: &seconds})
				if !errors.Is(err, row.want) {
					t.Fatalf("the error is %v, want %v", err, row.want)
				}
				if err == nil {
					defer w.Stop()
					for range w.ResultChan() {
						events++
					}
				}
				if took := time.Since(begin); took != 300*time.Second+WatchGrace || events != row.events {
					t.Errorf("the watch ends after %v with %d events, want %v and %d", took, events, 300*time.Second+WatchGrace, row.events)
				}
			})
		})
	}
}

// TestStoppedWatchEndsItsRequest proves that Stop cancels the request immediately, before its deadline.
func TestStoppedWatchEndsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := silent{answers: true, ended: make(chan struct{})}
		client, err := NewClient(&rest.Config{Host: "http://server", Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		begin, seconds := time.Now(), int64(300)
		w, err := client.Watch(t.Context(), a.Resource, "ns", metav1.ListOptions{TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		<-w.ResultChan()
		w.Stop()
		<-server.ended
		if took := time.Since(begin); took != 0 {
			t.Errorf("the request ends %v after its watch", took)
		}
	})
}
