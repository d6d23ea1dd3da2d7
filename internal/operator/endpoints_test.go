package operator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers"
	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// assemble creates the parts of an operator whose API server is handler. Its watches end when ctx is done.
func assemble(ctx context.Context, t *testing.T, v *view, handler http.HandlerFunc) parts {
	t.Helper()
	server := httptest.NewServer(handler)
	config := &rest.Config{Host: server.URL, QPS: -1}
	cluster, err := kube.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(limited(config))
	if err != nil {
		t.Fatal(err)
	}
	manage, work := controllers.New(controllers.Options{Cluster: func(as string) controller.Client { return cluster.As(as) }, Clock: clock.RealClock{}, Meters: v.meters(), QueueMetrics: v.queues()})
	p := parts{client.Discovery().RESTClient(), watch.NewManager(ctx, func(as string) watch.Client { return cluster.As(as) }, manage), manage, work}
	t.Cleanup(func() {
		p.watches.Wait()
		server.CloseClientConnections()
		server.Close()
		manage.Close()
	})
	return p
}

// silent is an API server that does not respond.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// fetch returns the status code and the body of a response.
func fetch(t *testing.T, address, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
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

func TestEachAddressServesItsOwnEndpoints(t *testing.T) {
	const free = "127.0.0.1:0"
	v := newView(Addresses{Metrics: free, Health: free, Pprof: free})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := v.open(ctx, assemble(ctx, t, v, silent)); err != nil {
		t.Fatal(err)
	}
	defer v.close(t.Context())
	for i, row := range []struct {
		path string
		code int
		body string
	}{
		{"/metrics", http.StatusOK, `workqueue_depth{name="parents"} 0`},
		{"/healthz", http.StatusOK, "ok\n"},
		{"/debug/pprof/goroutine?debug=1", http.StatusOK, "goroutine profile:"},
	} {
		if code, body := fetch(t, v.servers[i].Address(), row.path); code != row.code || !strings.Contains(body, row.body) {
			t.Errorf("%s: %d %q", row.path, code, body)
		}
		for _, other := range []string{"/", "/metrics", "/healthz", "/debug/pprof/"} {
			code, _ := fetch(t, v.servers[i].Address(), other)
			if own := strings.HasPrefix(row.path, other) && other != "/"; (code == http.StatusOK) != own {
				t.Errorf("%s is answered %d beside %s", other, code, row.path)
			}
		}
	}
	if code, body := fetch(t, v.servers[1].Address(), "/readyz"); code != http.StatusServiceUnavailable || body != "the operator is starting\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	v.ready.Begin()
	if code, body := fetch(t, v.servers[1].Address(), "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d %q", code, body)
	}
}

// TestSecureMetricsRequireAuthorization uses an API server that knows one token and authorizes one user, and forbids
// templater nothing.
func TestSecureMetricsRequireAuthorization(t *testing.T) {
	const free = "127.0.0.1:0"
	v := newView(Addresses{Metrics: free, MetricsSecure: true, Health: free})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	answer := func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var review struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Spec       map[string]any `json:"spec"`
			Status     map[string]any `json:"status"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		who, _ := review.Spec["token"].(string)
		review.Status = map[string]any{"authenticated": who != "", "user": map[string]any{"username": who}, "allowed": review.Spec["user"] == "prometheus"}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()
	if err := v.secure(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}); err != nil {
		t.Fatal(err)
	}
	if err := v.open(ctx, assemble(ctx, t, v, silent)); err != nil {
		t.Fatal(err)
	}
	defer v.close(t.Context())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, row := range []struct {
		path, token string
		code        int
	}{
		{"/metrics", "", http.StatusUnauthorized},
		{"/metrics", "somebody", http.StatusForbidden},
		{"/metrics", "prometheus", http.StatusOK},
		{"/other", "prometheus", http.StatusNotFound},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+v.servers[0].Address()+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if row.token != "" {
			request.Header.Set("Authorization", "Bearer "+row.token)
		}
		got, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err := errors.Join(err, got.Body.Close()); err != nil || got.StatusCode != row.code || strings.Contains(string(body), "workqueue_depth") != (row.code == http.StatusOK) {
			t.Errorf("%s for %q is answered %d, error %v: %.80s", row.path, row.token, got.StatusCode, err, body)
		}
	}
	if asked.Load() != 4 {
		t.Errorf("%d questions, want two about each of two tokens", asked.Load())
	}
	if code, _ := fetch(t, v.servers[1].Address(), "/healthz"); code != http.StatusOK {
		t.Errorf("probes bring no token: /healthz is answered %d", code)
	}
}

func TestInsecureMetricsNeedNoReviewClients(t *testing.T) {
	for _, a := range []Addresses{{Metrics: ":0"}, {MetricsSecure: true}} {
		v := newView(a)
		if err := v.secure(&rest.Config{Host: "http://[::1"}); err != nil || v.guard != nil {
			t.Errorf("%+v: guard %v, error %v", a, v.guard, err)
		}
	}
	err := run(t.Context(), Options{Config: &rest.Config{Host: "http://[::1"}, Serve: Addresses{Metrics: ":0", MetricsSecure: true}}, alone{})
	if err == nil || !strings.HasPrefix(err.Error(), "create a client for tokenreviews: ") {
		t.Errorf("error %v", err)
	}
}

func TestServersAreOffByDefault(t *testing.T) {
	v := newView(Addresses{})
	if v.meters() != nil || v.queues() != nil {
		t.Error("something is measured although nobody asks")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := v.open(ctx, assemble(ctx, t, v, silent)); err != nil || len(v.servers) > 0 {
		t.Errorf("%d servers, error %v", len(v.servers), err)
	}
}

func TestAddressInUseFailsStartup(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	address := strings.TrimPrefix(taken.URL, "http://")
	v := newView(Addresses{Metrics: "127.0.0.1:0", Pprof: address})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := assemble(ctx, t, v, silent)
	leftOver := goleak.IgnoreCurrent()
	err := v.open(ctx, p)
	goleak.VerifyNone(t, leftOver)
	if want := "set another --pprof-bind-address: cannot serve pprof: listen tcp " + address; !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s…", err, want)
	}
	err = Run(ctx, Options{Config: &rest.Config{Host: taken.URL}, Serve: Addresses{Health: address}})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Run returns %v", err)
	}
}

func TestAPIServerHealthProbe(t *testing.T) {
	for why, row := range map[string]struct {
		handler http.HandlerFunc
		answers bool
	}{
		"ok":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, true},
		"forbidden":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, true},
		"etcd is away": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, false},
		"overloaded": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}, false},
		"no response": {silent, false},
	} {
		t.Run(why, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := assemble(ctx, t, newView(Addresses{}), row.handler)
			if err := ask(t.Context(), p.server); (err == nil) != row.answers {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestStuckWatchFailsLiveness stalls only the watches: WATCH requests get no response, all others do.
func TestStuckWatchFailsLiveness(t *testing.T) {
	v := newView(Addresses{Health: "127.0.0.1:0"})
	v.now = func() time.Time { return time.Now().Add(16 * time.Minute) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var working atomic.Bool
	working.Store(true)
	waiting := make(chan struct{}, 10)
	p := assemble(ctx, t, v, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("watch") == "true":
			waiting <- struct{}{}
			silent(w, r)
		case !working.Load():
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	if err := v.open(ctx, p); err != nil {
		t.Fatal(err)
	}
	defer v.close(t.Context())
	if _, err := p.watches.Set("", []watch.Want{crds}); err != nil {
		t.Fatal(err)
	}
	<-waiting
	code, body := fetch(t, v.servers[0].Address(), "/healthz")
	if want := "the watch for customresourcedefinitions.apiextensions.k8s.io/v1 is stuck: no list, event, bookmark or restart since "; code != http.StatusServiceUnavailable || !strings.HasPrefix(body, want) {
		t.Errorf("%d %q", code, body)
	}
	working.Store(false)
	if code, body := fetch(t, v.servers[0].Address(), "/healthz"); code != http.StatusOK {
		t.Errorf("while the API server is away: %d %q", code, body)
	}
}

// TestOperatorWaitsForAPIServer starts an operator without an API server: it waits, alive and not ready.
func TestOperatorWaitsForAPIServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	var address string
	start := func() {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		address = strings.TrimPrefix(gone.URL, "http://") // free, unless another process takes it
		go func() {
			result <- Run(ctx, Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Workers: 1, Serve: Addresses{Health: address}})
		}()
	}
	answers := func(path string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			return 0, err
		}
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	start()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		select {
		case err := <-result:
			if !errors.Is(err, syscall.EADDRINUSE) {
				return false, err
			}
			start()
		default:
		}
		alive, err := answers("/healthz")
		return err == nil && alive == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("/healthz never answers 200: %v", err)
	}
	if code, err := answers("/readyz"); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d, %v", code, err)
	}
	cancel()
	if err := <-result; err != nil {
		t.Errorf("Run returns %v", err)
	}
	if code, err := answers("/healthz"); err == nil && code == http.StatusOK {
		t.Error("after the end it is still alive")
	}
}
