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

// sealSecret is the name of the Secret with the keys.
const sealSecret = "templater-seal"

// sealManager is the field manager that writes the Secret.
const sealManager = "templater/seal"

var (
	secretsResource    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// sealWriter is the access to the API server that a sealKeeper needs; kube.Client has it.
type sealWriter interface {
	Apply(ctx context.Context, o request.Location, body []byte, manager string) (*object.Object, error)
}

// sealKeeper keeps a Ring in step with the Secret that holds the keys, and puts a key there when it holds none.
type sealKeeper struct {
	Ring *seal.Ring
	// Namespace is where the Secret is.
	Namespace string
	// Outside is whether the operator runs outside of the cluster, so that it may have to make the namespace.
	Outside bool
	Writer  sealWriter
	// Changed is called when the keys are others than before.
	Changed func()

	wake chan struct{} // there is something new
	mu   sync.Mutex
	// version is that of the Secret, "1" while there is none, which has an apply create it; empty is whether it holds no key.
	version string
	empty   bool
}

// sealWant is the watch of the Secret for the sealKeeper.
func sealWant(namespace string) watch.Want {
	return watch.Want{Resource: secretsResource, Namespace: namespace, Fields: fields.OneTermEqualSelector("metadata.name", sealSecret).String(), Role: watch.Seal}
}

// newSealKeeper completes a sealKeeper, and returns it.
func newSealKeeper(k *sealKeeper) *sealKeeper {
	k.wake = make(chan struct{}, 1)
	return k
}

// Take takes the Secret as it is now, nil for none. Keys that can no longer be read stay in use.
func (k *sealKeeper) Take(ctx context.Context, secret *object.Object) {
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
		klog.FromContext(ctx).Error(nil, "cannot read the seal keys: correct the Secret; until then, the last known keys are used", "secret", k.name(), "because", err.Error())
	}
	if err == nil && k.Ring.Set(keys) {
		klog.FromContext(ctx).Info("seal keys", "secret", k.name(), "keys", keys.IDs(), "since", keys.Since)
		k.Changed()
	}
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
}

// sealRetry is the time between attempts to write the Secret.
const sealRetry = 2 * time.Second

// Keep ensures, until ctx ends, that the Secret holds a key, and calls ready once there is one. Only the leader may call it.
func (k *sealKeeper) Keep(ctx context.Context, ready func()) {
	said := ""
	for {
		timer := (<-chan time.Time)(nil)
		if err := k.fill(ctx); err != nil {
			if text := k.explain(err); text != said && ctx.Err() == nil {
				said = text
				klog.FromContext(ctx).Info("waiting for a seal key", "because", text)
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

// fill puts a key into the Secret where it holds none: those in use, else a new one.
func (k *sealKeeper) fill(ctx context.Context) error {
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
		return nil // someone else was first, and the watch will deliver it
	case err != nil:
		return err
	}
	klog.FromContext(ctx).Info("wrote the seal key", "secret", k.name())
	k.Take(ctx, after)
	return nil
}

func (k *sealKeeper) write(ctx context.Context, version string, keys *seal.Keys) (*object.Object, error) {
	body := object.Append(nil, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": keys.Data(),
		"metadata": map[string]any{"namespace": k.Namespace, "name": sealSecret, "resourceVersion": version},
	})
	return k.Writer.Apply(ctx, request.Location{Resource: secretsResource, Namespace: k.Namespace, Name: sealSecret}, body, sealManager)
}

func (k *sealKeeper) makeNamespace(ctx context.Context) error {
	body := object.Append(nil, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": k.Namespace}})
	_, err := k.Writer.Apply(ctx, request.Location{Resource: namespacesResource, Name: k.Namespace}, body, sealManager)
	return err
}

func (k *sealKeeper) name() string { return k.Namespace + "/" + sealSecret }

// explain says what keeps the Secret from being written. The server's own text may hold what was sent.
func (k *sealKeeper) explain(err error) string {
	switch {
	case request.MissingNamespace(err):
		return "namespace " + k.Namespace + " does not exist: create it, or set another --seal-namespace"
	case apierrors.IsForbidden(err) && k.Outside:
		return "no permission to create or patch Secret " + k.name() + ", or its namespace does not exist: grant it, or set another --seal-namespace"
	case apierrors.IsForbidden(err):
		return "no permission to create or patch Secret " + k.name() + ": kubectl apply -k config/default grants it"
	}
	if code := request.Code(err); code != 0 {
		return fmt.Sprintf("the API server returned %d to the write of Secret %s", code, k.name())
	}
	return "the API server does not respond"
}
