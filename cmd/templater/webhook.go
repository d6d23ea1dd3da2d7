package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/operator"
)

// webhookFlags are the flags for the validating webhook.
type webhookFlags struct{ webhook operator.Webhook }

func (f *webhookFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.webhook.Address, "webhook-bind-address", "", "listen address of the validating webhook, as HOST:PORT or :PORT; empty = disabled. The ValidatingWebhookConfiguration is named templater, or templater-CLASS with --class-name")
	flags.StringVar(&f.webhook.CertDir, "webhook-cert-dir", "", "directory with tls.crt and tls.key for the webhook, such as a mounted cert-manager Secret, reloaded when they change; if empty, templater creates a certificate, stores it in a Secret, renews it, and sets the CA bundle of the webhook configuration")
	cli.AddNamespace(flags, &f.webhook.Namespace, "webhook-namespace", "", "namespace of the Secret with the webhook certificate (named templater-webhook, or templater-CLASS-webhook with --class-name); defaults to the Pod's namespace")
}

// check validates the flags, and sets the default namespace. podNamespace returns the namespace of the Pod, or "" outside a Pod.
func (f *webhookFlags) check(podNamespace func() (string, error)) error {
	w := &f.webhook
	if w.Address == "" {
		if w.CertDir != "" || w.Namespace != "" {
			return errors.New("--webhook-cert-dir and --webhook-namespace require --webhook-bind-address, as in :9443")
		}
		return nil
	}
	if err := checkAddress("--webhook-bind-address", w.Address); err != nil || w.CertDir != "" || w.Namespace != "" {
		return err
	}
	namespace, err := podNamespace()
	switch {
	case err != nil:
		return fmt.Errorf("cannot determine the namespace of the Secret with the certificate, set --webhook-namespace: %w", err)
	case namespace == "":
		return errors.New("--webhook-bind-address: set --webhook-namespace or --webhook-cert-dir: templater does not run in a Pod, so the namespace of the Secret is unknown")
	}
	w.Namespace = namespace
	return nil
}
