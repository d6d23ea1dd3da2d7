package operator

import (
	"net"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/operator/admission"
)

func TestWebhookWithoutAddressIsDisabled(t *testing.T) {
	w := newWebhook(Options{}, nil, nil)
	if w != nil || w.wants() != nil {
		t.Error("a webhook without an address is created")
	}
	w.look(t.Context())
	w.attach(t.Context(), nil)
	w.keep(t.Context())
	w.open(t.Context())()
}

func TestAddressInUseDisablesOnlyWebhook(t *testing.T) {
	defer goleak.VerifyNone(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}))
	w := newWebhook(Options{Webhook: Webhook{Address: listener.Addr().String(), Namespace: "ns"}}, nil, &admission.Handler{})
	w.open(ctx)()
	if want := "the webhook does not validate TemplateControllers: set another --webhook-bind-address"; !strings.Contains(log.String(), want) {
		t.Errorf("the log is %s, want %q", log.String(), want)
	}
}

func TestWebhookNamesIncludeClass(t *testing.T) {
	for class, want := range map[string]string{"": "templater-webhook", "b": "templater-b-webhook"} {
		w := newWebhook(Options{ClassName: class, Webhook: Webhook{Address: ":9443", Namespace: "ns"}}, nil, &admission.Handler{})
		if w.certificate.Secret != want || w.certificate.Configuration+"-webhook" != want {
			t.Errorf("class %q: Secret %s, configuration %s", class, w.certificate.Secret, w.certificate.Configuration)
		}
	}
	if w := newWebhook(Options{Webhook: Webhook{Address: ":9443", CertDir: "/certs"}}, nil, &admission.Handler{}); w.certificate != nil || len(w.wants()) > 0 {
		t.Error("it manages a certificate although files are set")
	}
}
