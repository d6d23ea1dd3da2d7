package operator

import (
	"context"
	"iter"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/admission"
	"github.com/templater-dev/templater/internal/operator/admission/certificate"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/operator/serve"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Webhook configures the validating webhook for TemplateControllers.
type Webhook struct {
	// Address is the listen address, such as ":9443"; empty = disabled.
	Address string
	// CertDir is the directory with the certificate; empty = templater manages the certificate in a Secret.
	CertDir string
	// Namespace is the namespace of this Secret.
	Namespace string
}

// webhook is the admission webhook of this process.
type webhook struct {
	Webhook
	certificate *certificate.Manager // nil = the certificate is not managed by templater
	handler     http.Handler
}

// webhookName is the name of the ValidatingWebhookConfiguration, and the prefix of the name of the Secret. Like the
// Lease, it includes the class.
func webhookName(class string) string {
	if class == "" {
		return "templater"
	}
	return "templater-" + class
}

// check returns all lint findings for a TemplateController. Before it returns an error, it checks again with kinds that
// are read from the API server: CRDs that were written together with the TemplateController may not have been watched
// yet. See admission.Handler.
func (p *process) check(ctx, reading context.Context, tc *v1.TemplateController) []finding.Finding {
	result, err := p.manage.Check(ctx, tc, p.schemas.Within(reading))
	if err == nil && result.Rejection != nil {
		result, err = p.manage.Check(ctx, tc, p.schemas.Anew(reading))
	}
	if err != nil {
		return nil
	}
	return result.Findings
}

// others yields the TemplateControllers that write a ready condition to parents of that kind. See admission.Handler.
func (p *process) others(kind schema.GroupKind) iter.Seq[*v1.TemplateController] {
	return conditionWriters(kind, p.manage.Each)
}

// conditionWriters yields the accepted TemplateControllers among each, of any class, that write a ready condition to
// parents of that kind. They may be large, so each one is decoded only when needed, and only the fields that are
// compared.
func conditionWriters(kind schema.GroupKind, each func(func(*object.Object))) iter.Seq[*v1.TemplateController] {
	return func(yield func(*v1.TemplateController) bool) {
		var packed []*object.Object // decoded later, without the lock of the cache
		each(func(o *object.Object) {
			if store.WatchedKind(o) == kind && !o.Deleting() {
				packed = append(packed, o)
			}
		})
		for _, o := range packed {
			if tc := conditionWriter(o); tc != nil && !yield(tc) {
				return
			}
		}
	}
}

// conditionWriter decodes a TemplateController that writes a ready condition: its name, spec.watch and
// spec.status.readyCondition. It returns nil for all others.
func conditionWriter(packed *object.Object) *v1.TemplateController {
	tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Namespace: packed.Namespace(), Name: packed.Name()}}
	if !writesCondition(packed) || packed.Unmarshal(&tc.Spec.Watch, "spec", "watch") != nil {
		return nil
	}
	spec.Confine(tc.Namespace, &tc.Spec)
	if condition, ok := packed.At("spec", "status", "readyCondition").(string); ok {
		tc.Spec.Status = &v1.ParentStatus{ReadyCondition: &condition}
	}
	return tc
}

// writesCondition reports whether the status of a TemplateController shows that its spec is accepted, and that its
// parents can have a ready condition.
func writesCondition(packed *object.Object) bool {
	conditions := store.Conditions(packed)
	accepted := meta.FindStatusCondition(conditions, v1.ConditionAccepted)
	if accepted == nil || accepted.Status != metav1.ConditionTrue || accepted.ObservedGeneration != packed.Generation() {
		return false
	}
	writable := meta.FindStatusCondition(conditions, v1.ConditionStatusWritable)
	return writable != nil && (writable.Status == metav1.ConditionTrue || writable.Reason == v1.ReasonConditionOwned || writable.Reason == v1.ReasonFieldOwned)
}

// newWebhook returns nil if the webhook is disabled.
func newWebhook(o Options, writer certificate.Writer, review *admission.Handler) *webhook {
	if o.Webhook.Address == "" {
		return nil
	}
	w := &webhook{Webhook: o.Webhook}
	mux := http.NewServeMux()
	mux.Handle("POST "+admission.Path, admission.New(review))
	w.handler = mux
	if o.Webhook.CertDir == "" {
		name := webhookName(o.ClassName)
		w.certificate = certificate.New(certificate.Options{Namespace: o.Webhook.Namespace, Secret: name + "-webhook", Configuration: name, Writer: writer, Now: time.Now})
	}
	return w
}

// wants returns the watches of the webhook. It also starts without them, but later.
func (w *webhook) wants() []watch.Want {
	if w == nil || w.certificate == nil {
		return nil
	}
	return w.certificate.Wants()
}

// look processes changes of the objects that the webhook watches.
func (w *webhook) look(ctx context.Context) {
	if w != nil && w.certificate != nil {
		w.certificate.Look(ctx)
	}
}

// attach sets the caches of the webhook.
func (w *webhook) attach(ctx context.Context, caches map[watch.Want]*watch.Cache) {
	if w != nil && w.certificate != nil {
		w.certificate.Attach(ctx, caches)
	}
}

// keep maintains the certificate while this replica leads.
func (w *webhook) keep(ctx context.Context) {
	if w != nil && w.certificate != nil {
		w.certificate.Keep(ctx)
	}
}

// open starts the server, on each replica, and returns a function that stops it. If it cannot listen,
// TemplateControllers are written without validation, and everything else works.
func (w *webhook) open(ctx context.Context) (end func()) {
	if w == nil {
		return func() {}
	}
	o := serve.Options{Name: "webhook", Address: w.Address, Handler: w.handler}
	if w.certificate != nil {
		o.TLS = w.certificate.Config()
	} else {
		o.TLS = serve.NewCertificate(w.CertDir, klog.FromContext(ctx)).Config()
	}
	server, err := serve.Listen(ctx, o)
	if err != nil {
		klog.FromContext(ctx).Error(err, "the webhook does not validate TemplateControllers: set another --webhook-bind-address")
		return func() {}
	}
	return func() { server.Close(ctx) }
}
