package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// manager is the field manager for the Secret and the CA bundle.
const manager = "templater/webhook"

var (
	secrets        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// Writer is the API server access that a Manager needs. kube.Client implements it.
type Writer interface {
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
}

// Options configure a Manager.
type Options struct {
	// Namespace and Secret are the location of the Secret, Configuration is the name of the
	// ValidatingWebhookConfiguration.
	Namespace, Secret, Configuration string
	Writer                           Writer
	Now                              func() time.Time
}

// Manager manages the certificate. It does nothing while the configuration does not exist. It is safe for concurrent
// use.
type Manager struct {
	Options
	wake chan struct{} // something has changed

	mu     sync.Mutex
	caches map[watch.Want]*watch.Cache
	known  version // of the Secret
	pairs  pairs   // in use
	whole  bool    // pairs are exactly those in the Secret
}

// version identifies a version of the Secret: its UID and resourceVersion, both empty if it does not exist.
type version struct {
	uid     types.UID
	version string
}

// New returns a Manager. It does nothing until Attach is called.
func New(o Options) *Manager { return &Manager{Options: o, wake: make(chan struct{}, 1)} }

// Wants returns the watches of the Secret and the webhook configuration.
func (m *Manager) Wants() []watch.Want { return []watch.Want{m.secret(), m.configuration()} }

func (m *Manager) secret() watch.Want {
	return watch.Want{Resource: secrets, Namespace: m.Namespace, Fields: named(m.Secret), Role: watch.Webhook}
}

func (m *Manager) configuration() watch.Want {
	return watch.Want{Resource: configurations, Fields: named(m.Configuration), Role: watch.Webhook}
}

func named(name string) string { return fields.OneTermEqualSelector("metadata.name", name).String() }

// Attach sets the caches of Wants.
func (m *Manager) Attach(ctx context.Context, caches map[watch.Want]*watch.Cache) {
	m.mu.Lock()
	m.caches = caches
	m.mu.Unlock()
	m.Look(ctx)
}

// Look processes the current Secret and configuration.
func (m *Manager) Look(ctx context.Context) {
	m.mu.Lock()
	m.look(ctx)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default: // it is already awake
	}
}

// look reads the Secret. The current pairs are kept until there are new ones. The caller holds the lock.
func (m *Manager) look(ctx context.Context) {
	cache := m.caches[m.secret()]
	if cache == nil || !cache.Synced() {
		return
	}
	now, data := version{}, map[string]any(nil)
	if secret := cache.Get(types.NamespacedName{Namespace: m.Namespace, Name: m.Secret}); secret != nil {
		now = version{secret.UID(), secret.ResourceVersion()}
		if m.known == now {
			return
		}
		data, _ = secret.Content()["data"].(map[string]any)
	}
	all, whole := read(data)
	m.known, m.whole = now, whole && len(all) > 0
	if len(all) == 0 {
		return
	}
	if len(m.pairs) == 0 || string(all[0].crt) != string(m.pairs[0].crt) {
		klog.FromContext(ctx).Info("loaded the webhook certificate", "secret", m.name(), "notAfter", all[0].shown.Leaf.NotAfter)
	}
	m.pairs = all
}

// errNone is returned to clients while there is no certificate.
var errNone = errors.New("the webhook has no certificate yet")

// Config returns the TLS config of the webhook.
func (m *Manager) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			m.mu.Lock()
			all := m.pairs
			m.mu.Unlock()
			if p := all.shown(m.Now(), m.published); p != nil {
				return p.shown, nil
			}
			return nil, errNone
		},
	}
}

// published reports whether the API server trusts a pair. It is true if the CA bundle is unknown.
func (m *Manager) published(p *pair) bool {
	target, err := m.target()
	return err != nil || bytes.Contains(target.bundle, p.crt)
}

func (m *Manager) name() string { return m.Namespace + "/" + m.Secret }

// again is the delay between attempts to write.
const again = 2 * time.Second

// maxRest limits the delay between checks, because the clock may be changed.
const maxRest = time.Hour

// Keep ensures until ctx is done that there is a certificate and that the API server trusts it. Only the leader may
// call it.
func (m *Manager) Keep(ctx context.Context) {
	said := ""
	for ctx.Err() == nil { // checked here because select is random if both ctx is done and wake is ready
		rest, err := m.mend(ctx)
		if text := m.explain(err); text != said && ctx.Err() == nil {
			said = text
			if text != "" {
				klog.FromContext(ctx).Info("the webhook is not ready, so TemplateControllers are not validated, will retry", "reason", text)
			}
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// mend creates a certificate if one is due, and updates the CA bundle. It returns the delay before the next check,
// unless something changes earlier.
func (m *Manager) mend(ctx context.Context) (time.Duration, error) {
	target, err := m.target()
	if err != nil {
		return maxRest, err
	}
	m.mu.Lock()
	now, known, before, whole := m.Now(), m.known, m.pairs, m.whole
	m.mu.Unlock()
	all, renewed, err := before.renewed(target.names, now)
	if err == nil && (renewed || !whole) {
		err = m.write(ctx, known, all)
	}
	if bundle := all.bundle(); err == nil && string(target.bundle) != string(bundle) {
		err = m.publish(ctx, target, bundle)
	}
	if err != nil {
		return again, err
	}
	return min(maxRest, all[0].due().Sub(now)), nil
}

// write writes the Secret, if it still has that version.
func (m *Manager) write(ctx context.Context, known version, all pairs) error {
	metadata := map[string]any{"namespace": m.Namespace, "name": m.Secret, "resourceVersion": known.version}
	if known.version == "" {
		metadata["resourceVersion"] = "1" // makes an apply create it
	}
	body := object.Append(nil, map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": all.data(), "metadata": metadata})
	err := m.apply(ctx, m.secret(), request.Location{Resource: secrets, Namespace: m.Namespace, Name: m.Secret}, body)
	if err != nil {
		return &requestError{"create or patch Secret " + m.name(), err}
	}
	klog.FromContext(ctx).Info("wrote the webhook certificate", "secret", m.name())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look(ctx)
	return nil
}

// apply sends a server-side apply, and adds the result to the cache, so that look finds it.
func (m *Manager) apply(ctx context.Context, want watch.Want, at request.Location, body []byte) error {
	after, err := m.Writer.Apply(ctx, at, body, manager)
	if err != nil {
		return err
	}
	m.mu.Lock()
	cache := m.caches[want]
	m.mu.Unlock()
	cache.Put(after, manager)
	return nil
}
