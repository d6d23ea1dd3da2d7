package config

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/templater-dev/templater/internal/operator/admission"
	"github.com/templater-dev/templater/internal/operator/admission/certificate"
)

func webhookConfiguration(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	load(t, "webhook/configuration.yaml", &c)
	return &c
}

func TestWebhookConfigurationMatchesService(t *testing.T) {
	webhook := webhookConfiguration(t).Webhooks[0]
	var service corev1.Service
	load(t, "webhook/service.yaml", &service)
	container := deployment(t).Spec.Template.Spec.Containers[0]
	asked := webhook.ClientConfig.Service
	if asked.Name != service.Name || asked.Namespace != service.Namespace || *asked.Path != admission.Path {
		t.Errorf("the API server asks %+v", asked)
	}
	if webhook.Name != certificate.WebhookName {
		t.Errorf("the webhook is called %s, and templater looks for %s", webhook.Name, certificate.WebhookName)
	}
	port := container.Ports[slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal })]
	if service.Spec.Ports[0].Port != 443 || !slices.Contains(container.Args, fmt.Sprintf("--webhook-bind-address=:%d", port.ContainerPort)) {
		t.Errorf("the Service leads to port %d of %q", port.ContainerPort, container.Args)
	}
	for key, value := range service.Spec.Selector {
		if deployment(t).Spec.Template.Labels[key] != value {
			t.Errorf("the Service selects no Pods: %s", key)
		}
	}
}

// Whatever happens to the webhook, writes go through, and soon.
func TestWebhookFailsOpen(t *testing.T) {
	for _, w := range webhookConfiguration(t).Webhooks {
		if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.SideEffects != admissionregistrationv1.SideEffectClassNone || *w.TimeoutSeconds > 2 || len(w.ClientConfig.CABundle) > 0 {
			t.Errorf("%s: %+v", w.Name, w)
		}
		for _, rule := range w.Rules {
			if !slices.Equal(rule.Resources, []string{"templatecontrollers", "namespacedtemplatecontrollers"}) || !slices.Equal(rule.APIGroups, []string{"templater.dev"}) || slices.Contains(rule.Operations, admissionregistrationv1.Delete) {
				t.Errorf("%s is asked about %+v", w.Name, rule)
			}
		}
	}
}

// A webhook of its own is all that templater may point elsewhere. It may neither make nor delete one: list and watch are for reading what
// the API server trusts, and patch for telling it. Tests in e2e run with exactly this.
func TestOperatorAccessesOnlyOwnWebhook(t *testing.T) {
	var role rbacv1.ClusterRole
	load(t, "rbac/operator.yaml", &role)
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return !slices.Contains(rule.APIGroups, "*") && !slices.Contains(rule.APIGroups, "admissionregistration.k8s.io")
	})
	if diff := cmp.Diff([]rbacv1.PolicyRule{{
		APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"},
		ResourceNames: []string{webhookConfiguration(t).Name}, Verbs: []string{"list", "patch", "watch"},
	}}, role.Rules); diff != "" {
		t.Errorf("what the operator may do with webhooks (-want +got):\n%s", diff)
	}
}
