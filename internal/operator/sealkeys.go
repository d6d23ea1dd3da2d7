package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// sealSecret is the name of the Secret with the seal keys.
const sealSecret = "templater-seal"

// sealManager is the field manager of the Secret.
const sealManager = "templater/seal"

var (
	secretsResource    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// sealWriter is the API server access that a sealKeyManager needs. kube.Client implements it.
type sealWriter interface {
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
}

// sealKeyManager keeps a Ring in sync with the Secret that holds the keys, and creates a key if the Secret has none.
type sealKeyManager struct {
	Ring *seal.Ring
	// Namespace is the namespace of the Secret.
	Namespace string
	// Outside: the operator runs outside a cluster, so that it may have to create the namespace.
	Outside bool
	Writer  sealWriter
	// Changed is called when the keys have changed.
	Changed func()

	wake chan struct{} // something has changed
	mu   sync.Mutex
	// version is the resourceVersion of the Secret, or "1" if it does not exist, so that an apply creates it. empty
	// means that it has no key.
	version string
	empty   bool
}

// sealWant is the watch of the Secret.
func sealWant(namespace string) watch.Want {
	return watch.Want{Resource: secretsResource, Namespace: namespace, Fields: fields.OneTermEqualSelector("metadata.name", sealSecret).String(), Role: watch.Seal}
}

// newSealKeyManager initializes a sealKeyManager, and returns it.
func newSealKeyManager(k *sealKeyManager) *sealKeyManager {
	k.wake = make(chan struct{}, 1)
	return k
}

// Take processes the current Secret; nil if it does not exist. If it is invalid, the previous keys stay in use.
func (k *sealKeyManager) Take(ctx context.Context, secret *object.Object) {
	version, data, made := "1", map[string]any(nil), time.Time{}
	if secret != nil {
		version, made = secret.ResourceVersion(), secret.AppliedAt()
		data, _ = secret.Content()["data"].(map[string]any)
	}
	keys, err := seal.Parse(data, made)
	k.mu.Lock()
	k.version, k.empty = version, errors.Is(err, seal.ErrNoKey)
	k.mu.Unlock()
	if err != nil && !errors.Is(err, seal.ErrNoKey) {
		klog.FromContext(ctx).Error(nil, "invalid seal keys, still using the previous ones: correct the Secret", "secret", k.name(), "reason", err.Error())
	}
	if err == nil && k.Ring.Set(keys) {
		klog.FromContext(ctx).Info("loaded seal keys", "secret", k.name(), "keys", keys.IDs(), "since", keys.Since)
		k.Changed()
	}
	select {
	case k.wake <- struct{}{}:
	default: // it is already awake
	}
}

// sealRetry is the delay between attempts to write the Secret.
const sealRetry = 2 * time.Second

// Keep ensures until ctx is done that the Secret has a key, and calls ready once there is one. Only the leader may call
// it.
func (k *sealKeyManager) Keep(ctx context.Context, ready func()) {
	said := ""
	for {
		timer := (<-chan time.Time)(nil)
		if err := k.fill(ctx); err != nil {
			if text := k.explain(err); text != said && ctx.Err() == nil {
				said = text
				klog.FromContext(ctx).Info("waiting for a seal key", "reason", text)
			}
			timer = time.After(sealRetry)
		}
		if ready != nil && k.Ring.Keys() != nil {
			ready()
			ready = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-timer:
		}
	}
}

// fill writes a key to the Secret if it has none: the keys in use, or else a new one.
func (k *sealKeyManager) fill(ctx context.Context) error {
	k.mu.Lock()
	version, empty := k.version, k.empty
	k.mu.Unlock()
	if !empty {
		return nil
	}
	keys := k.Ring.Keys()
	if keys == nil {
		keys = seal.Generate(time.Now())
	}
	after, err := k.write(ctx, version, keys)
	if request.MissingNamespace(err) && k.Outside {
		if err := k.makeNamespace(ctx); err != nil {
			return err
		}
		after, err = k.write(ctx, version, keys)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return nil // another replica was first, and the watch will deliver its Secret
	case err != nil:
		return err
	}
	klog.FromContext(ctx).Info("wrote the seal key", "secret", k.name())
	k.Take(ctx, after)
	return nil
}

func (k *sealKeyManager) write(ctx context.Context, version string, keys *seal.Keys) (*object.Object, error) {
	body := object.Append(nil, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": keys.Data(),
		"metadata": map[string]any{"namespace": k.Namespace, "name": sealSecret, "resourceVersion": version},
	})
	return k.Writer.Apply(ctx, request.Location{Resource: secretsResource, Namespace: k.Namespace, Name: sealSecret}, body, sealManager)
}

func (k *sealKeyManager) makeNamespace(ctx context.Context) error {
	body := object.Append(nil, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": k.Namespace}})
	_, err := k.Writer.Apply(ctx, request.Location{Resource: namespacesResource, Name: k.Namespace}, body, sealManager)
	return err
}

func (k *sealKeyManager) name() string { return k.Namespace + "/" + sealSecret }

// explain describes why the Secret cannot be written. The message of the API server may contain what was sent.
func (k *sealKeyManager) explain(err error) string {
	switch {
	case request.MissingNamespace(err):
		return "namespace " + k.Namespace + " does not exist: create it, or set another --seal-namespace"
	case apierrors.IsForbidden(err) && k.Outside:
		return "no permission to create or patch Secret " + k.name() + ", or its namespace does not exist: grant it, or set another --seal-namespace"
	case apierrors.IsForbidden(err):
		return "no permission to create or patch Secret " + k.name() + ": kubectl apply -k config/default grants it"
	}
	if code := request.Code(err); code != 0 {
		return fmt.Sprintf("cannot write Secret %[2]s: the API server returned %[1]d", code, k.name())
	}
	return "the API server does not respond"
}
