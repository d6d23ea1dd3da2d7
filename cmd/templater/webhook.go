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
	flags.StringVar(&f.webhook.Address, "webhook-address", "", "HOST:PORT or :PORT that the API server asks at whether a TemplateController may be written, as the ValidatingWebhookConfiguration templater, or templater-CLASS with --class-name, tells it; empty = it cannot ask")
	flags.StringVar(&f.webhook.CertDir, "webhook-cert-dir", "", "folder with the tls.crt and tls.key for that, such as a mounted Secret of cert-manager, taken up anew when they change; empty = templater makes a certificate, keeps it in a Secret, renews it, and has the API server trust it")
	cli.AddNamespace(flags, &f.webhook.Namespace, "webhook-namespace", "", "namespace of that Secret, which is called templater-webhook, or templater-CLASS-webhook with --class-name; empty = that of the Pod")
}

// check says which flag makes no sense. podNamespace returns the namespace of the Pod, "" outside of one.
func (f *webhookFlags) check(podNamespace func() (string, error)) error {
	w := &f.webhook
	if w.Address == "" {
		if w.CertDir != "" || w.Namespace != "" {
			return errors.New("--webhook-cert-dir, --webhook-namespace: say where the API server can ask: give --webhook-address, as in :9443")
		}
		return nil
	}
	if err := checkAddress("--webhook-address", w.Address); err != nil || w.CertDir != "" || w.Namespace != "" {
		return err
	}
	namespace, err := podNamespace()
	switch {
	case err != nil:
		return fmt.Errorf("find the namespace of the Secret with the certificate: give --webhook-namespace: %w", err)
	case namespace == "":
		return errors.New("--webhook-address: this is no Pod, which would tell the namespace of the Secret with the certificate: give --webhook-namespace, or --webhook-cert-dir")
	}
	w.Namespace = namespace
	return nil
}
