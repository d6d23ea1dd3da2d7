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

// Writer is the API server access that a Keeper needs. kube.Client implements it.
type Writer interface {
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
}

// Options configure a Keeper.
type Options struct {
	// Namespace and Secret are the location of the Secret, Configuration is the name of the
	// ValidatingWebhookConfiguration.
	Namespace, Secret, Configuration string
	Writer                           Writer
	Now                              func() time.Time
}

// Keeper manages the certificate. It does nothing while the configuration does not exist. It is safe for concurrent
// use.
type Keeper struct {
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

// New returns a Keeper. It does nothing until Attach is called.
func New(o Options) *Keeper { return &Keeper{Options: o, wake: make(chan struct{}, 1)} }

// Wants returns the watches of the Secret and the webhook configuration.
func (k *Keeper) Wants() []watch.Want { return []watch.Want{k.secret(), k.configuration()} }

func (k *Keeper) secret() watch.Want {
	return watch.Want{Resource: secrets, Namespace: k.Namespace, Fields: named(k.Secret), Role: watch.Webhook}
}

func (k *Keeper) configuration() watch.Want {
	return watch.Want{Resource: configurations, Fields: named(k.Configuration), Role: watch.Webhook}
}

func named(name string) string { return fields.OneTermEqualSelector("metadata.name", name).String() }

// Attach sets the caches of Wants.
func (k *Keeper) Attach(ctx context.Context, caches map[watch.Want]*watch.Cache) {
	k.mu.Lock()
	k.caches = caches
	k.mu.Unlock()
	k.Look(ctx)
}

// Look processes the current Secret and configuration.
func (k *Keeper) Look(ctx context.Context) {
	k.mu.Lock()
	k.look(ctx)
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // it is already awake
	}
}

// look reads the Secret. The current pairs are kept until there are new ones. The caller holds the lock.
func (k *Keeper) look(ctx context.Context) {
	cache := k.caches[k.secret()]
	if cache == nil || !cache.Synced() {
		return
	}
	now, data := version{}, map[string]any(nil)
	if secret := cache.Get(types.NamespacedName{Namespace: k.Namespace, Name: k.Secret}); secret != nil {
		now = version{secret.UID(), secret.ResourceVersion()}
		if k.known == now {
			return
		}
		data, _ = secret.Content()["data"].(map[string]any)
	}
	all, whole := read(data)
	k.known, k.whole = now, whole && len(all) > 0
	if len(all) == 0 {
		return
	}
	if len(k.pairs) == 0 || string(all[0].crt) != string(k.pairs[0].crt) {
		klog.FromContext(ctx).Info("loaded the webhook certificate", "secret", k.name(), "notAfter", all[0].shown.Leaf.NotAfter)
	}
	k.pairs = all
}

// errNone is returned to clients while there is no certificate.
var errNone = errors.New("the webhook has no certificate yet")

// Config returns the TLS config of the webhook.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			k.mu.Lock()
			all := k.pairs
			k.mu.Unlock()
			if p := all.shown(k.Now(), k.published); p != nil {
				return p.shown, nil
			}
			return nil, errNone
		},
	}
}

// published reports whether the API server trusts a pair. It is true if the CA bundle is unknown.
func (k *Keeper) published(p *pair) bool {
	target, err := k.target()
	return err != nil || bytes.Contains(target.bundle, p.crt)
}

func (k *Keeper) name() string { return k.Namespace + "/" + k.Secret }

// again is the delay between attempts to write.
const again = 2 * time.Second

// maxRest limits the delay between checks, because the clock may be changed.
const maxRest = time.Hour

// Keep ensures until ctx is done that there is a certificate and that the API server trusts it. Only the leader may
// call it.
func (k *Keeper) Keep(ctx context.Context) {
	said := ""
	for ctx.Err() == nil { // checked here because select is random if both ctx is done and wake is ready
		rest, err := k.mend(ctx)
		if text := k.explain(err); text != said && ctx.Err() == nil {
			said = text
			if text != "" {
				klog.FromContext(ctx).Info("the webhook is not ready, so TemplateControllers are not validated, will retry", "reason", text)
			}
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-k.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// mend creates a certificate if one is due, and updates the CA bundle. It returns the delay before the next check,
// unless something changes earlier.
func (k *Keeper) mend(ctx context.Context) (time.Duration, error) {
	target, err := k.target()
	if err != nil {
		return maxRest, err
	}
	k.mu.Lock()
	now, known, before, whole := k.Now(), k.known, k.pairs, k.whole
	k.mu.Unlock()
	all, renewed, err := before.renewed(target.names, now)
	if err == nil && (renewed || !whole) {
		err = k.write(ctx, known, all)
	}
	if bundle := all.bundle(); err == nil && string(target.bundle) != string(bundle) {
		err = k.publish(ctx, target, bundle)
	}
	if err != nil {
		return again, err
	}
	return min(maxRest, all[0].due().Sub(now)), nil
}

// write writes the Secret, if it still has that version.
func (k *Keeper) write(ctx context.Context, known version, all pairs) error {
	metadata := map[string]any{"namespace": k.Namespace, "name": k.Secret, "resourceVersion": known.version}
	if known.version == "" {
		metadata["resourceVersion"] = "1" // makes an apply create it
	}
	body := object.Append(nil, map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": all.data(), "metadata": metadata})
	err := k.apply(ctx, k.secret(), request.Location{Resource: secrets, Namespace: k.Namespace, Name: k.Secret}, body)
	if err != nil {
		return &requestError{"create or patch Secret " + k.name(), err}
	}
	klog.FromContext(ctx).Info("wrote the webhook certificate", "secret", k.name())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look(ctx)
	return nil
}

// apply sends a server-side apply, and adds the result to the cache, so that look finds it.
func (k *Keeper) apply(ctx context.Context, want watch.Want, at request.Location, body []byte) error {
	after, err := k.Writer.Apply(ctx, at, body, manager)
	if err != nil {
		return err
	}
	k.mu.Lock()
	cache := k.caches[want]
	k.mu.Unlock()
	cache.Put(after, manager)
	return nil
}
