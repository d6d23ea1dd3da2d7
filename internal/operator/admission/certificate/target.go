package certificate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

// WebhookName is the name of the webhook within its configuration.
const WebhookName = "templatecontrollers.templater.dev"

// target describes the webhook in the configuration.
type target struct {
	version string   // resourceVersion of the configuration
	names   []string // host names under which the API server calls the webhook
	bundle  []byte   // CA bundle that the API server trusts
}

var (
	// errSyncing means that the caches have not synced yet.
	errSyncing = errors.New("not read yet")
	// errNowhere means that the configuration has no such webhook.
	errNowhere = errors.New("no such webhook")
)

// target returns the current target.
func (m *Manager) target() (*target, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, want := range m.Wants() {
		switch cache := m.caches[want]; {
		case cache == nil:
			return nil, errSyncing
		case cache.Synced():
		case cache.Err() != nil:
			return nil, &requestError{"list and watch " + want.String(), cache.Err()}
		default:
			return nil, errSyncing
		}
	}
	configuration := m.caches[m.configuration()].Get(types.NamespacedName{Name: m.Configuration})
	if configuration == nil {
		return nil, errNowhere
	}
	webhooks, _ := configuration.Content()["webhooks"].([]any)
	for _, each := range webhooks {
		webhook, _ := each.(map[string]any)
		if webhook["name"] != WebhookName {
			continue
		}
		client, _ := webhook["clientConfig"].(map[string]any)
		bundle, _ := client["caBundle"].(string)
		trusted, _ := base64.StdEncoding.DecodeString(bundle) // validated by the API server
		if names := namesOf(client); len(names) > 0 {
			return &target{version: configuration.ResourceVersion(), names: names, bundle: trusted}, nil
		}
	}
	return nil, errNowhere
}

// namesOf returns the names that the certificate of a webhook must have.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
func namesOf(client map[string]any) []string {
	if service, _ := client["service"].(map[string]any); service != nil {
		return []string{fmt.Sprintf("%v.%v.svc", service["name"], service["namespace"])}
	}
	address, _ := client["url"].(string)
	if at, err := url.Parse(address); err == nil && at.Hostname() != "" {
		return []string{at.Hostname()}
	}
	return nil
}

// publish updates the CA bundle, if the configuration has not changed.
func (m *Manager) publish(ctx context.Context, t *target, bundle []byte) error {
	body := object.Append(nil, map[string]any{
		"apiVersion": configurations.GroupVersion().String(), "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": m.Configuration, "resourceVersion": t.version},
		"webhooks": []any{map[string]any{"name": WebhookName, "clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)}}},
	})
	if err := m.apply(ctx, m.configuration(), request.Location{Resource: configurations, Name: m.Configuration}, body); err != nil {
		return &requestError{"patch ValidatingWebhookConfiguration " + m.Configuration, err}
	}
	klog.FromContext(ctx).Info("updated the CA bundle of the webhook configuration", "configuration", m.Configuration)
	return nil
}

// requestError is a failed request. The message of the API server is omitted, because it may contain what was sent.
type requestError struct {
	what string
	err  error
}

func (e *requestError) Error() string { return "cannot " + e.what }
func (e *requestError) Unwrap() error { return e.err }

// explain describes why the webhook does not work, or returns "" if that will be resolved soon.
func (m *Manager) explain(err error) string {
	var failed *requestError
	switch {
	case err == nil, errors.Is(err, errSyncing), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && !request.MissingNamespace(err):
		return "" // another replica was first, and the watch will deliver the change
	case errors.Is(err, errNowhere):
		return "there is no ValidatingWebhookConfiguration " + m.Configuration + " with a webhook " + WebhookName + ": kubectl apply -k config/default creates it"
	case !errors.As(err, &failed):
		return err.Error()
	case request.MissingNamespace(err):
		return "namespace " + m.Namespace + " does not exist: create it, or set another --webhook-namespace"
	case apierrors.IsForbidden(err):
		return "no permission to " + failed.what + ": kubectl apply -k config/default grants it"
	case request.Code(err) != 0:
		return fmt.Sprintf("the API server returned %d to a request to %s", request.Code(err), failed.what)
	}
	return "the API server does not respond"
}
