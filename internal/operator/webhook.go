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
	"github.com/templater-dev/templater/internal/render/finding"
)

// Webhook says how TemplateControllers are checked before they are written.
type Webhook struct {
	// Address is where the API server can ask, such as ":9443"; empty = it cannot.
	Address string
	// CertDir is the folder with the certificate; empty = it is templater's own, in a Secret.
	CertDir string
	// Namespace is that of this Secret.
	Namespace string
}

// webhook is the admission webhook of a process.
type webhook struct {
	Webhook
	keeper  *certificate.Keeper // nil = the certificate is somebody else's matter
	handler http.Handler
}

// webhookName is the name of the ValidatingWebhookConfiguration, and begins that of the Secret. As the Lease, it is called after the class.
func webhookName(class string) string {
	if class == "" {
		return "templater"
	}
	return "templater-" + class
}

// check says all that is wrong with a TemplateController. Before it says that something is, it makes sure that what it knows of kinds is as
// the server has them: definitions that are written together with a TemplateController may not have been watched yet. See admission.Handler.
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

// others yields the TemplateControllers that write a ready condition into parents of that kind. See admission.Handler.
func (p *process) others(kind schema.GroupKind) iter.Seq[*v1.TemplateController] {
	return conditionWriters(p.caches[templateControllers], kind)
}

// conditionWriters yields the accepted TemplateControllers of a cache, of any class, that write a ready condition into parents of that kind. They may
// be large: each is read when it is asked for, and only what it is compared by.
func conditionWriters(cache *watch.Cache, kind schema.GroupKind) iter.Seq[*v1.TemplateController] {
	return func(yield func(*v1.TemplateController) bool) {
		var packed []*object.Object // they are decoded without the lock of the cache
		cache.Each(func(o *object.Object) bool {
			if store.WatchedKind(o) == kind && !o.Deleting() {
				packed = append(packed, o)
			}
			return true
		})
		for _, o := range packed {
			if tc := conditionWriter(o); tc != nil && !yield(tc) {
				return
			}
		}
	}
}

// conditionWriter reads a TemplateController that writes a ready condition: its name, spec.watch and spec.status.readyCondition. It returns nil
// for all others.
func conditionWriter(packed *object.Object) *v1.TemplateController {
	tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: packed.Name()}}
	if !writesCondition(packed) || packed.Unmarshal(&tc.Spec.Watch, "spec", "watch") != nil {
		return nil
	}
	if condition, ok := packed.At("spec", "status", "readyCondition").(string); ok {
		tc.Spec.Status = &v1.ParentStatus{ReadyCondition: &condition}
	}
	return tc
}

// writesCondition reports whether the status of a TemplateController says that its spec is accepted, and that its parents can hold a ready condition.
func writesCondition(packed *object.Object) bool {
	conditions := store.Conditions(packed)
	accepted := meta.FindStatusCondition(conditions, v1.ConditionAccepted)
	if accepted == nil || accepted.Status != metav1.ConditionTrue || accepted.ObservedGeneration != packed.Generation() {
		return false
	}
	writable := meta.FindStatusCondition(conditions, v1.ConditionStatusWritable)
	return writable != nil && (writable.Status == metav1.ConditionTrue || writable.Reason == v1.ReasonConditionOwned || writable.Reason == v1.ReasonFieldOwned)
}

// newWebhook returns nil where there is to be none.
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
		w.keeper = certificate.New(certificate.Options{Namespace: o.Webhook.Namespace, Secret: name + "-webhook", Configuration: name, Writer: writer, Now: time.Now})
	}
	return w
}

// wants are the watches that the webhook needs. It also starts to work without them, but later.
func (w *webhook) wants() []watch.Want {
	if w == nil || w.keeper == nil {
		return nil
	}
	return w.keeper.Wants()
}

// look takes up what the watches of the webhook have brought.
func (w *webhook) look(ctx context.Context) {
	if w != nil && w.keeper != nil {
		w.keeper.Look(ctx)
	}
}

// attach gives the webhook its caches.
func (w *webhook) attach(ctx context.Context, caches map[watch.Want]*watch.Cache) {
	if w != nil && w.keeper != nil {
		w.keeper.Attach(ctx, caches)
	}
}

// keep sees to the certificate while this replica leads.
func (w *webhook) keep(ctx context.Context) {
	if w != nil && w.keeper != nil {
		w.keeper.Keep(ctx)
	}
}

// open starts the server, on each replica, and returns what ends it. Where there is none, TemplateControllers are written unchecked, and
// all else works.
func (w *webhook) open(ctx context.Context) (end func()) {
	if w == nil {
		return func() {}
	}
	o := serve.Options{Name: "webhook", Address: w.Address, Handler: w.handler}
	if w.keeper != nil {
		o.TLS = w.keeper.Config()
	} else {
		o.TLS = serve.NewCertificate(w.CertDir, klog.FromContext(ctx)).Config()
	}
	server, err := serve.Listen(ctx, o)
	if err != nil {
		klog.FromContext(ctx).Error(err, "the webhook does not validate TemplateControllers: set another --webhook-address")
		return func() {}
	}
	return func() { server.Close(ctx) }
}
