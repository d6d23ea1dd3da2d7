package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

func TestMetricsReportOperatorActivity(t *testing.T) {
	parallel(t)
	const parents = 5
	s := newScope(t)
	s.defineThing()
	v, args := newView(t)
	op := startOperator(t, args...)
	v.waitProbe("/readyz", http.StatusOK)
	s.controller(oneConfigMap)
	if err := createMany(t.Context(), s.things(), parents, s.numbered); err != nil {
		t.Fatal(err)
	}
	s.thing("colorless", "{}")
	series := func(name string, labels ...string) string {
		text := "controller=" + strconv.Quote(s.id) + `,namespace=""`
		for i := 0; i < len(labels); i += 2 {
			text += "," + labels[i] + "=" + strconv.Quote(labels[i+1])
		}
		return name + "{" + text + "}"
	}
	eventually(t, soon, func() error {
		m, err := v.scrape()
		return errors.Join(err,
			m.is(series("templater_parents", "state", "ready"), parents),
			m.is(series("templater_parents", "state", "failed"), 1),
			m.is(series("templater_parents", "state", "waiting"), 0),
			m.is(series("templater_child_writes_total", "result", "success", "verb", "create"), parents),
			m.is(series("templater_child_writes_total", "result", "success", "verb", "update"), 0),
			m.is(series("templater_child_writes_total", "result", "success", "verb", "delete"), 0),
			m.is(series("templater_loops_detected_total"), 0),
			m.is(series("templater_templatecontroller_ready"), 1),
			m.is(series("templater_templatecontroller_rollout_halted"), 0),
			m.is(series("templater_templatecontroller_revision_rejected"), 0),
			m.is(series("templater_reconcile_total", "result", "panic"), 0),
			m.least(series("templater_reconcile_total", "result", "success"), parents),
			m.least(series("templater_reconcile_total", "result", "failed"), 1),
			m.least(series("templater_reconcile_duration_seconds_count"), parents+1),
			m.least(series("templater_template_errors_total"), 1),
			m.is(`workqueue_depth{name="parents"}`, 0),
			m.is(`workqueue_depth{name="permissions"}`, 0),
			m.least(`workqueue_adds_total{name="parents"}`, parents+1),
			m.least(`workqueue_adds_total{name="controllers"}`, 1),
			m.is(`templater_watches`, 6), // CRDs, both kinds of TemplateController, seal keys, things, ConfigMaps
			m.is(`templater_watch_synced{resource="configmaps",role="child",watch="configmaps/v1 labels \"templater.dev/controller\""}`, 1),
			m.least(`rest_client_requests_total{code="201",host="`+v.proxy.address+`",method="PATCH"}`, parents),
			m.least(`rest_client_request_duration_seconds_count{host="`+v.proxy.address+`",verb="PATCH"}`, parents),
		)
	})
	op.quiet(time.Second)
	m, err := v.scrape()
	failed := series("templater_reconcile_total", "result", "failed")
	if err := errors.Join(err, m.is(series("templater_template_errors_total"), m[failed])); err != nil {
		t.Errorf("a reconciliation whose template fails is one that failed, and nothing else: %v", err)
	}
	for name := range m {
		if strings.Contains(name, "colorless") || strings.Contains(name, s.ns+"/") {
			t.Errorf("an object is named in %s", name)
		}
	}

	s.delete(env.client.Resource(controllers), "@id")
	eventually(t, soon, func() error {
		m, err := v.scrape()
		for name := range m {
			if strings.Contains(name, `controller="`+s.id+`"`) {
				err = errors.Join(err, fmt.Errorf("there still is %s", name))
			}
		}
		return errors.Join(err, m.is(`templater_watches`, 4))
	})
	if code, body := v.get(v.pprof, "/debug/pprof/goroutine?debug=1"); code != http.StatusOK || !strings.Contains(body, "goroutine profile:") {
		t.Errorf("pprof answers %d %s", code, body)
	}
	op.Stop()
	if _, err := net.DialTimeout("tcp", v.metrics, time.Second); err == nil {
		t.Error("the operator has stopped, and its port is still open")
	}
}

func TestHealthDuringAPIServerOutage(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	v, args := newView(t)
	startOperator(t, args...)
	s.controller(oneConfigMap)
	s.thing("before", "{color: red}")
	waitFor(t, s.in(configMaps), "before", nil)
	v.waitProbe("/healthz", http.StatusOK)
	v.waitProbe("/readyz", http.StatusOK)

	errorsOf := func() float64 {
		m, err := v.scrape()
		if err != nil {
			t.Error(err)
		}
		return m[`rest_client_requests_total{code="<error>",host="`+v.proxy.address+`",method="GET"}`]
	}
	was := errorsOf()
	v.proxy.cut()
	eventually(t, soon, func() error {
		if n := errorsOf() - was; n < 10 {
			return fmt.Errorf("%v requests without an answer so far", n)
		}
		return nil
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := v.get(v.health, path); code != http.StatusOK {
			t.Errorf("%s, while the API server is away: %d %s", path, code, body)
		}
	}
	v.proxy.mend(t)
	s.thing("after", "{color: red}")
	waitFor(t, s.in(configMaps), "after", nil)
	v.waitProbe("/healthz", http.StatusOK)
}

func TestAddressInUseFailsStartup(t *testing.T) {
	parallel(t)
	v, args := newView(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", v.health)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	out, err := exec.CommandContext(ctx, env.binary, append([]string{"run"}, args...)...).CombinedOutput()
	want := "set another --health-probe-bind-address: cannot serve health-probe: listen tcp " + v.health + ": bind: address already in use"
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != 2 || !strings.Contains(string(out), want) {
		t.Errorf("ended with %v: %s", err, out)
	}
}

// view accesses an operator's metrics, probes and profiles.
type view struct {
	t                      *testing.T
	proxy                  *proxy // to the API server
	metrics, health, pprof string
}

// newView returns a view, and the operator flags for it.
func newView(t *testing.T) (*view, []string) {
	t.Helper()
	v := &view{t: t, metrics: freeAddress(t), health: freeAddress(t), pprof: freeAddress(t)}
	config, err := clientcmd.LoadFromFile(env.userKubeconfig(t, operatorOf(t)))
	if err != nil {
		t.Fatal(err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		t.Fatal(err)
	}
	v.proxy = newProxy(t, server.Host)
	cluster.TLSServerName = server.Hostname()
	cluster.Server = "https://" + v.proxy.address
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return v, []string{"--kubeconfig=" + path, "--metrics-bind-address=" + v.metrics, "--health-probe-bind-address=" + v.health, "--pprof-bind-address=" + v.pprof}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// get returns the status code and the body of a response.
func (v *view) get(address, path string) (int, string) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// waitProbe waits until a probe returns the code.
func (v *view) waitProbe(path string, code int) {
	v.t.Helper()
	eventually(v.t, soon, func() error {
		if got, body := v.get(v.health, path); got != code {
			return fmt.Errorf("%s answers %d %s", path, got, body)
		}
		return nil
	})
}

// values maps series to their values.
type values map[string]float64

// scrape returns all series.
func (v *view) scrape() (values, error) {
	v.t.Helper()
	code, body := v.get(v.metrics, "/metrics")
	if code != http.StatusOK {
		return nil, fmt.Errorf("/metrics answers %d %s", code, body)
	}
	m := values{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("series %q: %w", line, err)
		}
		m[line[:at]] = value
	}
	return m, nil
}

func (m values) is(series string, want float64) error {
	if got, ok := m[series]; !ok || got != want {
		return fmt.Errorf("%s is %v (there: %v), want %v", series, got, ok, want)
	}
	return nil
}

func (m values) least(series string, want float64) error {
	if got := m[series]; got < want {
		return fmt.Errorf("%s is %v, want at least %v", series, got, want)
	}
	return nil
}

// proxy forwards connections to a server until it is cut.
type proxy struct {
	address, server string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]struct{}
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	p := &proxy{address: "127.0.0.1:0", server: server, open: map[net.Conn]struct{}{}}
	p.mend(t)
	t.Cleanup(p.cut)
	return p
}

// mend makes the proxy accept connections again, at the same address.
func (p *proxy) mend(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(t.Context()), "tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.address = listener, listener.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // cut
			}
			go p.pass(in, listener)
		}
	}()
}

// cut closes all connections, and stops accepting new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return
	}
	_ = p.listener.Close() // it may already be closed
	p.listener = nil
	for c := range p.open {
		_ = c.Close() // likewise
	}
}

// pass forwards one connection.
func (p *proxy) pass(in net.Conn, from net.Listener) {
	defer in.Close()
	out, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer out.Close()
	p.mu.Lock()
	if p.listener != from {
		p.mu.Unlock()
		return // cut in the meantime
	}
	p.open[in], p.open[out] = struct{}{}, struct{}{}
	p.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // ends with the connection
			done <- struct{}{}
		}()
	}
	<-done
	p.mu.Lock()
	delete(p.open, in)
	delete(p.open, out)
	p.mu.Unlock()
}
