package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/operator"
)

// webhookFlags say how TemplateControllers are checked before they are written.
type webhookFlags struct{ webhook operator.Webhook }

func (f *webhookFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.webhook.Address, "webhook-address", "", "listen address of the validating webhook, as HOST:PORT or :PORT, for the ValidatingWebhookConfiguration templater, or templater-CLASS with --class-name; empty = not served")
	flags.StringVar(&f.webhook.CertDir, "webhook-cert-dir", "", "folder with tls.crt and tls.key for the webhook, such as a mounted Secret of cert-manager, reloaded when they change; empty = templater creates a certificate, keeps it in a Secret, renews it, and sets the CA bundle of the webhook configuration")
	cli.AddNamespace(flags, &f.webhook.Namespace, "webhook-namespace", "", "namespace of the Secret with the certificate of the webhook, templater-webhook, or templater-CLASS-webhook with --class-name; empty = that of the Pod")
}

// check says which flag makes no sense. podNamespace returns the namespace of the Pod, "" outside of one.
func (f *webhookFlags) check(podNamespace func() (string, error)) error {
	w := &f.webhook
	if w.Address == "" {
		if w.CertDir != "" || w.Namespace != "" {
			return errors.New("--webhook-cert-dir and --webhook-namespace require --webhook-address, as in :9443")
		}
		return nil
	}
	if err := checkAddress("--webhook-address", w.Address); err != nil || w.CertDir != "" || w.Namespace != "" {
		return err
	}
	namespace, err := podNamespace()
	switch {
	case err != nil:
		return fmt.Errorf("find the namespace of the Secret with the certificate: set --webhook-namespace: %w", err)
	case namespace == "":
		return errors.New("--webhook-address: set --webhook-namespace or --webhook-cert-dir: templater does not run in a Pod, so the namespace of the Secret is unknown")
	}
	w.Namespace = namespace
	return nil
}
