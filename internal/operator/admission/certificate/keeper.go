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

// manager writes the Secret, and what the API server is to trust.
const manager = "templater/webhook"

var (
	secrets        = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// Writer is the access to the API server that a Keeper needs; kube.Client has it.
type Writer interface {
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
}

// Options are what a Keeper works with.
type Options struct {
	// Namespace and Secret name the Secret, Configuration the ValidatingWebhookConfiguration.
	Namespace, Secret, Configuration string
	Writer                           Writer
	Now                              func() time.Time
}

// Keeper keeps the certificate. While there is no such configuration, it does nothing. It is safe for concurrent use.
type Keeper struct {
	Options
	wake chan struct{} // there is something new

	mu     sync.Mutex
	caches map[watch.Want]*watch.Cache
	known  version // of the Secret
	pairs  pairs   // in use
	whole  bool    // whether these are what the Secret holds
}

// version identifies a state of the Secret: the UID and resourceVersion of the object, both empty if there is none.
type version struct {
	uid     types.UID
	version string
}

// New returns a Keeper. Attach has to be called before it knows anything.
func New(o Options) *Keeper { return &Keeper{Options: o, wake: make(chan struct{}, 1)} }

// Wants are the watches of the Secret and of the webhook configuration.
func (k *Keeper) Wants() []watch.Want { return []watch.Want{k.secret(), k.configuration()} }

func (k *Keeper) secret() watch.Want {
	return watch.Want{Resource: secrets, Namespace: k.Namespace, Fields: named(k.Secret), Role: watch.Webhook}
}

func (k *Keeper) configuration() watch.Want {
	return watch.Want{Resource: configurations, Fields: named(k.Configuration), Role: watch.Webhook}
}

func named(name string) string { return fields.OneTermEqualSelector("metadata.name", name).String() }

// Attach gives the Keeper the caches of its wants.
func (k *Keeper) Attach(ctx context.Context, caches map[watch.Want]*watch.Cache) {
	k.mu.Lock()
	k.caches = caches
	k.mu.Unlock()
	k.Look(ctx)
}

// Look takes up the Secret and the configuration as they are now.
func (k *Keeper) Look(ctx context.Context) {
	k.mu.Lock()
	k.look(ctx)
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
}

// look reads the Secret; the lock is held. The pair in use is kept until there is another one.
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
		klog.FromContext(ctx).Info("certificate of the webhook", "secret", k.name(), "until", all[0].shown.Leaf.NotAfter)
	}
	k.pairs = all
}

// errNone says that there is no certificate yet.
var errNone = errors.New("the webhook has no certificate yet")

// Config returns how the webhook speaks TLS.
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

// published reports whether the API server trusts a pair. It is true if the CA bundle is not known.
func (k *Keeper) published(p *pair) bool {
	target, err := k.target()
	return err != nil || bytes.Contains(target.bundle, p.crt)
}

func (k *Keeper) name() string { return k.Namespace + "/" + k.Secret }

// again is the time between attempts to write.
const again = 2 * time.Second

// restAtMost is how long the Keeper rests at most: a clock may be set.
const restAtMost = time.Hour

// Keep ensures, until ctx ends, that there is a certificate and that the API server trusts it. Only the leader may call it.
func (k *Keeper) Keep(ctx context.Context) {
	said := ""
	for ctx.Err() == nil { // both may have happened: the end, and what wakes
		rest, err := k.mend(ctx)
		if text := k.explain(err); text != said && ctx.Err() == nil {
			said = text
			if text != "" {
				klog.FromContext(ctx).Info("the webhook validates nothing for now", "because", text)
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

// mend makes a certificate where one is due, and has the API server trust it. It returns after how long to look again, unless
// something changes before.
func (k *Keeper) mend(ctx context.Context) (time.Duration, error) {
	target, err := k.target()
	if err != nil {
		return restAtMost, err
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
	return min(restAtMost, all[0].due().Sub(now)), nil
}

// write writes the Secret, which must still be that version.
func (k *Keeper) write(ctx context.Context, known version, all pairs) error {
	metadata := map[string]any{"namespace": k.Namespace, "name": k.Secret, "resourceVersion": known.version}
	if known.version == "" {
		metadata["resourceVersion"] = "1" // which has an apply create it
	}
	body := object.Append(nil, map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": all.data(), "metadata": metadata})
	err := k.apply(ctx, k.secret(), request.Location{Resource: secrets, Namespace: k.Namespace, Name: k.Secret}, body)
	if err != nil {
		return &requestError{"create or patch Secret " + k.name(), err}
	}
	klog.FromContext(ctx).Info("wrote the certificate of the webhook", "secret", k.name())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look(ctx)
	return nil
}

// apply makes a server-side apply, and puts what comes of it into the cache, so that the next look finds it.
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
