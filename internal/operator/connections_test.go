package operator

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/metrics"
)

// nopHandler is a watch.Handler that ignores events.
type nopHandler struct{}

func (nopHandler) Changed(watch.Want, watch.Event) {}
func (nopHandler) StateChanged(watch.Want)         {}

// TestConcurrentWatchesShareConnections starts a thousand watches concurrently, on an API server that allows a hundred
// requests per connection, like real ones. An HTTP client dials whenever all its connections are full.
func TestConcurrentWatchesShareConnections(t *testing.T) {
	const watches, streams, mostOpen, mostInAll = 1000, 100, 60, 250
	metrics.New() // registers with client-go, before the first client of the process is created
	var opened, closed, most, requests atomic.Int64
	var began sync.WaitGroup
	began.Add(watches)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Any","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		if requests.Add(1) <= watches {
			began.Done()
		}
		<-r.Context().Done()
	}))
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if open := opened.Add(1) - closed.Load(); open > most.Load() {
				most.Store(open) // connections are accepted one after the other
			}
		case http.StateClosed:
			closed.Add(1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	server.Config.ErrorLog, server.EnableHTTP2 = log.New(io.Discard, "", 0), true
	server.StartTLS()
	defer server.Close()
	client, err := kube.NewClient(&rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	m := watch.NewManager(t.Context(), func(as string) watch.Client { return client.As(as) }, nopHandler{})
	defer m.Wait()
	var wants []watch.Want
	for i := range watches {
		wants = append(wants, watch.Want{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: fmt.Sprint("absent-", i),
			Role: watch.Child, As: "system:serviceaccount:team:deployer",
		})
	}
	if _, err := m.Set("one", wants); err != nil {
		t.Fatal(err)
	}
	began.Wait()
	if most, all := most.Load(), opened.Load(); most > mostOpen || all > mostInAll {
		t.Errorf("%d watches have made %d connections, and %d at a time; want at most %d and %d", watches, all, most, mostInAll, mostOpen)
	}
	if _, err := m.Set("one", nil); err != nil {
		t.Fatal(err)
	}
}
