package operator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/leader"
)

// server is an API server with at most one Lease and no other objects.
type server struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
	lists int
	// warning is added to every response; empty = none.
	warning string
}

func newServer(t *testing.T) (*server, *rest.Config) {
	t.Helper()
	s := &server{}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
		web.Close()
		goleak.VerifyNone(t)
	})
	return s, &rest.Config{Host: web.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if s.warning != "" {
		w.Header().Set("Warning", s.warning)
	}
	switch {
	case strings.Contains(r.URL.Path, "/leases"):
		s.serveLease(w, r)
	case r.URL.Query().Get("watch") != "":
		s.mu.Lock()
		s.lists++
		s.mu.Unlock()
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Any","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	}
}

func (s *server) serveLease(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		s.lease = &coordinationv1.Lease{}
		if err := json.NewDecoder(r.Body).Decode(s.lease); err != nil {
			panic(err)
		}
	}
	if s.lease == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		return
	}
	s.lease.Kind, s.lease.APIVersion = "Lease", "coordination.k8s.io/v1"
	_ = json.NewEncoder(w).Encode(s.lease)
}

// holder returns the holder of the Lease; "" = none.
func (s *server) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

// watched returns the number of watches that were started.
func (s *server) watched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}

// start runs an operator. stop stops it, and returns the error of Run.
func start(t *testing.T, o Options) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- Run(ctx, o) }()
	return func() error {
		cancel()
		return <-result
	}
}

func TestStandbyTakesOverReleasedLease(t *testing.T) {
	s, config := newServer(t)
	lease := func(id string) *leader.Lease {
		return &leader.Lease{Namespace: "ns", Name: "templater", Identity: id}
	}
	stopA := start(t, Options{Config: config, Workers: 2, Lease: lease("a")})
	eventually(t, "a leads", func() bool { return s.holder() == "a" })
	before := s.watched()
	stopB := start(t, Options{Config: config, Workers: 2, Lease: lease("b")})
	eventually(t, "b watches while a leads", func() bool { return s.watched() >= before+2 })
	if err := stopA(); err != nil {
		t.Error(err)
	}
	eventually(t, "b leads", func() bool { return s.holder() == "b" })
	if err := stopB(); err != nil || s.holder() != "" {
		t.Errorf("error %v, holder %q", err, s.holder())
	}
}

func TestRunWithoutLease(t *testing.T) {
	s, config := newServer(t)
	stop := start(t, Options{Config: config, Workers: 2})
	eventually(t, "it watches", func() bool { return s.watched() >= 2 })
	if err := stop(); err != nil || s.lease != nil {
		t.Errorf("error %v, Lease %v", err, s.lease)
	}
}

// lost is an election that ends immediately.
type lost struct{ alone }

var errLost = errors.New("lost")

func (lost) Run(_ context.Context, lead func()) error {
	lead()
	return errLost
}

func TestLostLeaseStopsOperator(t *testing.T) {
	_, config := newServer(t)
	if err := run(t.Context(), Options{Config: config, Workers: 2}, lost{}); !errors.Is(err, errLost) {
		t.Errorf("got %v, want %v", err, errLost)
	}
}

func TestRunRejectsInvalidConfig(t *testing.T) {
	for why, o := range map[string]Options{
		"alone":        {Config: &rest.Config{Host: "://"}},
		"with a lease": {Config: &rest.Config{Host: "://"}, Lease: &leader.Lease{Namespace: "ns", Name: "templater", Identity: "a"}},
	} {
		if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "create a client") {
			t.Errorf("%s: got %v", why, err)
		}
	}
}

func TestAPIServerWarningsAreNotLogged(t *testing.T) {
	s, config := newServer(t)
	s.warning = `299 - "the password is 1234"`
	var mu sync.Mutex
	var log []string
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, args)
	}, funcr.Options{Verbosity: 4})
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	result := make(chan error, 1)
	go func() {
		result <- Run(ctx, Options{Config: config, Workers: 2, Lease: &leader.Lease{Namespace: "ns", Name: "templater", Identity: "a"}})
	}()
	eventually(t, "it leads and watches", func() bool { return s.holder() == "a" && s.watched() >= 2 })
	cancel()
	if err := <-result; err != nil {
		t.Error(err)
	}
	all := strings.Join(log, "\n")
	if strings.Contains(all, "1234") || !strings.Contains(all, `"count"=1`) {
		t.Errorf("log:\n%s", all)
	}
}
