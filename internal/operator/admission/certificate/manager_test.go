package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// fixture is a Manager with a fake API server that has at most one Secret and one configuration.
type fixture struct {
	*Manager
	t        *testing.T
	ctx      context.Context //nolint:containedctx // context of the test, without logging
	now      time.Time
	version  int
	there    map[string]map[string]any // by resource
	refuse   error
	refuseAt string // the resource; "" = all
	requests []string
}

const service = `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "templater"},
	"webhooks": [{"name": "other.example.org", "clientConfig": {}}, {"name": "templatecontrollers.templater.dev", "clientConfig": {"service": {"namespace": "ns", "name": "templater"}}}]}`

func newFixture(t *testing.T, configuration string) *fixture {
	t.Helper()
	b := &fixture{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), version: 10, there: map[string]map[string]any{}}
	b.ctx = klog.NewContext(t.Context(), logr.Discard())
	b.configure(configuration)
	b.restart()
	return b
}

// restart replaces the Manager by one of a new process.
func (b *fixture) restart() {
	b.t.Helper()
	b.Manager = New(Options{Namespace: "ns", Secret: "templater-webhook", Configuration: "templater", Writer: b, Now: func() time.Time { return b.now }})
	caches := map[watch.Want]*watch.Cache{}
	for _, want := range b.Wants() {
		cache, err := watch.NewCache(want, func(watch.Event) {}, func() {})
		if err != nil {
			b.t.Fatal(err)
		}
		caches[want] = cache
	}
	b.Attach(b.ctx, caches)
	b.deliver()
}

// configure creates or replaces the configuration; "" deletes it.
func (b *fixture) configure(text string) {
	b.t.Helper()
	delete(b.there, "validatingwebhookconfigurations")
	if text == "" {
		return
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		b.t.Fatal(err)
	}
	b.put("validatingwebhookconfigurations", content)
}

func (b *fixture) put(resource string, content map[string]any) {
	b.version++
	content["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(b.version)
	content["metadata"].(map[string]any)["uid"] = "u"
	b.there[resource] = content
}

// deliver updates the caches.
func (b *fixture) deliver() {
	b.t.Helper()
	for _, want := range b.Wants() {
		var all []any
		if content := b.there[want.Resource.Resource]; content != nil {
			all = append(all, b.packed(content))
		}
		b.version++
		if err := b.caches[want].Replace(all, strconv.Itoa(b.version)); err != nil {
			b.t.Fatal(err)
		}
	}
	b.Look(b.ctx)
}

func (b *fixture) packed(content map[string]any) *object.Object {
	b.t.Helper()
	o, err := object.From(content)
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

// Apply fakes the server-side applies of the Manager.
func (b *fixture) Apply(_ context.Context, at request.Location, body []byte, _ string) (*object.Object, error) {
	b.requests = append(b.requests, at.Resource.Resource)
	if b.refuse != nil && (b.refuseAt == "" || b.refuseAt == at.Resource.Resource) {
		return nil, b.refuse
	}
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		b.t.Fatal(err)
	}
	before, version := b.there[at.Resource.Resource], content["metadata"].(map[string]any)["resourceVersion"]
	if before == nil && version != "1" || before != nil && version != before["metadata"].(map[string]any)["resourceVersion"] {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict, Code: 409}}
	}
	if at.Resource == configurations {
		client := func(o map[string]any, i int) map[string]any {
			return o["webhooks"].([]any)[i].(map[string]any)["clientConfig"].(map[string]any)
		}
		bundle := client(content, 0)["caBundle"]
		if err := json.Unmarshal(object.Append(nil, before), &content); err != nil {
			b.t.Fatal(err)
		}
		client(content, 1)["caBundle"] = bundle
	}
	b.put(at.Resource.Resource, content)
	return b.packed(content), nil
}

// keep calls mend twice, and returns the writes of the first call. The second one must not write.
func (b *fixture) keep() string {
	b.t.Helper()
	b.requests = nil
	rest, err := b.mend(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	if rest <= 0 || rest > maxRest {
		b.t.Errorf("it rests for %s", rest)
	}
	first := strings.Join(b.requests, " ")
	b.deliver()
	if _, err := b.mend(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	if again := strings.Join(b.requests, " "); again != first {
		b.t.Errorf("the second round wrote: %s", strings.TrimPrefix(again, first))
	}
	return first
}

const (
	all     = "secrets validatingwebhookconfigurations"
	nothing = ""
)

func (b *fixture) wants(when, want string) {
	b.t.Helper()
	if got := b.keep(); got != want {
		b.t.Errorf("%s: wrote %q, want %q", when, got, want)
	}
}

// bundle returns the CA bundle of the configuration.
func (b *fixture) bundle() *x509.CertPool {
	b.t.Helper()
	webhook := b.there["validatingwebhookconfigurations"]["webhooks"].([]any)[1].(map[string]any)
	text, err := base64.StdEncoding.DecodeString(webhook["clientConfig"].(map[string]any)["caBundle"].(string))
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		b.t.Fatalf("the bundle is %q", text)
	}
	return pool
}

// call connects as a client that trusts these certificates. It returns the certificate that the server sent.
func (b *fixture) call(name string, trusted *x509.CertPool) (*x509.Certificate, error) {
	b.t.Helper()
	server, err := tls.Listen("tcp", "127.0.0.1:0", b.Config())
	if err != nil {
		b.t.Fatal(err)
	}
	defer server.Close()
	go func() {
		if conn, err := server.Accept(); err == nil {
			_ = conn.(*tls.Conn).HandshakeContext(b.ctx)
		}
	}()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 20 * time.Second}, Config: &tls.Config{ServerName: name, RootCAs: trusted, Time: func() time.Time { return b.now }}}
	conn, err := dialer.DialContext(b.ctx, "tcp", server.Addr().String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	client := conn.(*tls.Conn)
	return client.ConnectionState().PeerCertificates[0], nil
}

// works checks that the API server can call the webhook, and returns the certificate.
func (b *fixture) works(when string) *x509.Certificate {
	b.t.Helper()
	shown, err := b.call("templater.ns.svc", b.bundle())
	if err != nil {
		b.t.Fatalf("%s: %v", when, err)
	}
	return shown
}

func TestCertificateIsCreatedPublishedAndRenewed(t *testing.T) {
	b := newFixture(t, service)
	if _, err := b.call("templater.ns.svc", nil); err == nil {
		t.Error("a certificate exists before it was created")
	}
	b.wants("at first", all)
	first := b.works("at first")
	if first.IsCA || first.NotAfter != b.now.Add(validFor) {
		t.Errorf("it is valid until %s, signs others: %v", first.NotAfter, first.IsCA)
	}
	if _, err := b.call("other.ns.svc", b.bundle()); err == nil {
		t.Error("it is good for another service")
	}

	b.now = b.now.Add(validFor - renewBefore - time.Second)
	b.wants("a second before it is due", nothing)
	b.now = b.now.Add(time.Second)
	before := b.bundle()
	b.wants("when it is due", all)
	for _, trusted := range []*x509.CertPool{before, b.bundle()} { // an API server may not trust the new one yet
		if shown, err := b.call("templater.ns.svc", trusted); err != nil || !shown.Equal(first) {
			t.Errorf("while the next one gets about, the first one is not shown: %v", err)
		}
	}
	b.now = b.now.Add(overlap)
	second := b.works("afterwards")
	if second.Equal(first) {
		t.Error("the first one is shown still")
	}
	b.restart()
	if shown := b.works("another replica"); !shown.Equal(second) {
		t.Error("another replica shows another one")
	}
	b.now = b.now.Add(validFor - renewBefore)
	b.wants("when the next is due", all)
	if got := len(b.pairs); got != 2 {
		t.Errorf("there are %d certificates, want 2", got)
	}
}

// The next certificate may be created long before it can be published. Until then, API servers trust only the previous
// one.
func TestUnpublishedCertificateIsNotServed(t *testing.T) {
	b := newFixture(t, service)
	b.wants("at first", all)
	first := b.works("at first")
	b.now = b.now.Add(validFor - renewBefore)
	b.refuseAt = configurations.Resource
	b.refuse = &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden}}
	if _, err := b.mend(b.ctx); err == nil || len(b.pairs) != 2 {
		t.Fatalf("the configuration is not refused: %v, %d certificates", err, len(b.pairs))
	}
	b.now = b.now.Add(2 * overlap)
	if !b.works("while it is not published").Equal(first) {
		t.Error("the next one is shown")
	}
	b.restart()
	if !b.works("another replica").Equal(first) {
		t.Error("another replica shows the next one")
	}
	b.refuse = nil
	b.wants("when it can be published", "validatingwebhookconfigurations")
	if b.works("afterwards").Equal(first) {
		t.Error("the first one is shown still")
	}
}

func TestSecretAndWebhookConfigurationDriftIsRepaired(t *testing.T) {
	for name, row := range map[string]struct {
		harm func(b *fixture)
		want string
		same bool // the certificate is kept
	}{
		"the Secret is deleted":              {func(b *fixture) { delete(b.there, "secrets") }, "secrets", true},
		"the Secret is emptied":              {func(b *fixture) { b.secretData(map[string]any{}) }, "secrets", true},
		"the Secret is filled with nonsense": {func(b *fixture) { b.secretData(map[string]any{"tls.crt": "?", "tls.key": "bm9uc2Vuc2U="}) }, "secrets", true},
		"a key is left over":                 {func(b *fixture) { b.secretMore("old.key", "bm9uc2Vuc2U=") }, "secrets", true},
		"a certificate is left over":         {func(b *fixture) { b.secretMore("old.crt", "bm9uc2Vuc2U=") }, "secrets", true},
		"the configuration is made anew":     {func(b *fixture) { b.configure(service) }, "validatingwebhookconfigurations", true},
		"another certificate is trusted": {func(b *fixture) {
			b.configure(strings.Replace(service, `"service"`, `"caBundle": "eA==", "service"`, 1))
		}, "validatingwebhookconfigurations", true},
		"the certificate has expired":       {func(b *fixture) { b.now = b.now.Add(validFor) }, all, false},
		"the clock was ahead":               {func(b *fixture) { b.now = b.now.Add(-2 * time.Hour) }, all, false},
		"the operator was away for years":   {func(b *fixture) { b.now = b.now.Add(10 * validFor); b.restart() }, all, false},
		"a process starts without a Secret": {func(b *fixture) { delete(b.there, "secrets"); b.restart() }, all, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, service)
			b.wants("at first", all)
			before := b.works("at first")
			row.harm(b)
			b.deliver()
			b.wants("afterwards", row.want)
			if after := b.works("afterwards"); after.Equal(before) != row.same {
				t.Errorf("the same certificate: %v, want %v", !row.same, row.same)
			}
		})
	}
}

// secretMore adds to the data of the Secret.
func (b *fixture) secretMore(key, value string) {
	data := maps.Clone(b.there["secrets"]["data"].(map[string]any))
	data[key] = value
	b.secretData(data)
}

func (b *fixture) secretData(data map[string]any) {
	b.put("secrets", map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ns", "name": "templater-webhook"}, "data": data})
}

// Expired certificates are no longer trusted.
func TestExpiredCertificateIsDropped(t *testing.T) {
	b := newFixture(t, service)
	b.wants("at first", all)
	b.now = b.now.Add(validFor)
	b.wants("when it has expired", all)
	if got := len(b.pairs); got != 1 {
		t.Errorf("there are %d certificates, want 1", got)
	}
}

// A new process serves an existing certificate immediately, and the newest one if the CA bundle is unknown.
func TestRestartServesExistingCertificate(t *testing.T) {
	b := newFixture(t, service)
	b.wants("at first", all)
	first := b.works("at first")
	b.now = b.now.Add(validFor - renewBefore)
	b.wants("when it is due", all)
	trusted := b.bundle()
	caches := b.caches
	b.Manager = New(b.Options)
	b.Look(b.ctx) // there are no caches yet
	b.Attach(b.ctx, caches)
	if !b.works("at once").Equal(first) {
		t.Error("the next one is shown at once")
	}
	b.now = b.now.Add(overlap)
	b.configure("")
	b.deliver()
	if shown, err := b.call("templater.ns.svc", trusted); err != nil || shown.Equal(first) {
		t.Errorf("without a configuration, the first one is shown, or none: %v", err)
	}
	b.configure(strings.Replace(service, `"service"`, `"caBundle": "eA==", "service"`, 1))
	b.deliver()
	if shown, err := b.call("templater.ns.svc", trusted); err != nil || shown.Equal(first) {
		t.Errorf("where none is trusted, the first one is shown, or none: %v", err)
	}
}

func TestCertificateMatchesConfiguredHost(t *testing.T) {
	b := newFixture(t, service)
	b.wants("at first", all)
	b.configure(strings.Replace(service, `"service": {"namespace": "ns", "name": "templater"}`, `"url": "https://127.0.0.1:9443/x"`, 1))
	b.deliver()
	b.wants("by address", all)
	if _, err := b.call("127.0.0.1", b.bundle()); err != nil {
		t.Error(err)
	}
	b.configure(strings.Replace(service, `"service": {"namespace": "ns", "name": "templater"}`, `"url": "https://webhook.example.org"`, 1))
	b.deliver()
	b.wants("by name", all)
	if _, err := b.call("webhook.example.org", b.bundle()); err != nil {
		t.Error(err)
	}
}

func TestUnconfiguredWebhookGetsNoCertificate(t *testing.T) {
	for name, configuration := range map[string]string{
		"no configuration": "", "another webhook": strings.ReplaceAll(service, "templatecontrollers.templater.dev", "x.example.org"), "no address": strings.ReplaceAll(service, `"service"`, `"nothing"`),
		"no URL": strings.Replace(service, `"service": {"namespace": "ns", "name": "templater"}`, `"url": "https://%zz"`, 1), "no host": strings.Replace(service, `"service": {"namespace": "ns", "name": "templater"}`, `"url": "https:///x"`, 1),
	} {
		b := newFixture(t, configuration)
		_, err := b.mend(b.ctx)
		const want = "there is no ValidatingWebhookConfiguration templater with a webhook templatecontrollers.templater.dev: kubectl apply -k config/default creates it"
		if got := b.explain(err); got != want || len(b.requests) > 0 {
			t.Errorf("%s: %q, wrote %q", name, got, b.requests)
		}
	}
}

func TestCertificateWriteErrorIsReported(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Details: details, Message: "s3cr3t"}}
	}
	for want, refuse := range map[string]error{
		"no permission to create or patch Secret ns/templater-webhook: kubectl apply -k config/default grants it": status(403, metav1.StatusReasonForbidden, nil),
		"the API server returned 500 to a request to create or patch Secret ns/templater-webhook":                 status(500, metav1.StatusReasonInternalError, nil),
		"namespace ns does not exist: create it, or set another --webhook-namespace":                              status(404, metav1.StatusReasonNotFound, &metav1.StatusDetails{Kind: "namespaces", Name: "ns"}),
		"":                                status(409, metav1.StatusReasonConflict, nil),
		"the API server does not respond": errors.New("dial tcp: s3cr3t"),
	} {
		b := newFixture(t, service)
		b.refuse = refuse
		rest, err := b.mend(b.ctx)
		if got := b.explain(err); got != want || rest != again {
			t.Errorf("%q after %s, want %q after %s", got, rest, want, again)
		}
		b.refuse = nil
		b.wants("afterwards", all)
	}
	b := newFixture(t, service)
	cache, err := watch.NewCache(b.secret(), func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	b.caches[b.secret()] = cache
	if _, err := b.mend(b.ctx); b.explain(err) != "" || !errors.Is(err, errSyncing) {
		t.Errorf("while the Secret is not read: %v", err)
	}
	cache.Fail(status(403, metav1.StatusReasonForbidden, nil))
	_, err = b.mend(b.ctx)
	const want = `no permission to list and watch secrets/v1 in ns fields "metadata.name=templater-webhook": kubectl apply -k config/default grants it`
	if diff := cmp.Diff(want, b.explain(err)); diff != "" {
		t.Error(diff)
	}
}

func TestKeepReactsToChanges(t *testing.T) {
	b := newFixture(t, "")
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(b.ctx)
	written := make(chan struct{})
	writer := b.Writer
	b.Manager.Writer = writerFunc(func(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
		o, err := writer.Apply(ctx, at, body, manager)
		if at.Resource == configurations {
			close(written)
		}
		return o, err
	})
	go func() { defer close(done); b.Keep(ctx) }()
	b.configure(service)
	b.deliver()
	select {
	case <-written:
	case <-time.After(20 * time.Second):
		t.Error("it did not notice the configuration")
	}
	cancel()
	<-done
	if b.caches[b.secret()].Get(types.NamespacedName{Namespace: "ns", Name: "templater-webhook"}) == nil {
		t.Error("no Secret")
	}
}

// An error is logged once, and nothing is logged when the process ends.
func TestKeepLogsErrorOnce(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	logger := funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{})
	b := newFixture(t, "")
	ctx, cancel := context.WithCancel(klog.NewContext(b.ctx, logger))
	done := make(chan struct{})
	go func() { defer close(done); b.Keep(ctx) }()
	for range 5 { // rounds: each ends before the next one begins
		b.Look(b.ctx)
		for deadline := time.Now().Add(20 * time.Second); len(b.wake) > 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) //nolint:forbidigo // there is no signal for a round
		}
	}
	mu.Lock()
	if len(lines) != 1 || !strings.Contains(lines[0], "there is no ValidatingWebhookConfiguration") {
		t.Errorf("log: %q", lines)
	}
	lines = nil
	mu.Unlock()
	asked := make(chan struct{})
	b.Manager.Writer = writerFunc(func(ctx context.Context, _ request.Location, _ []byte, _ string) (*object.Object, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b.configure(service)
	b.deliver()
	<-asked
	b.Look(b.ctx) // must not start another round once ctx is done
	cancel()
	<-done
	if len(lines) > 0 {
		t.Errorf("log at the end: %q", lines)
	}
}

type writerFunc func(context.Context, request.Location, []byte, string) (*object.Object, error)

func (f writerFunc) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	return f(ctx, at, body, manager)
}
