package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Detached provides one controller to reconciliations that only their caller observes, such as simulations and dry runs. It implements
// Controllers: it counts nothing, and all checks succeed. It is not safe for concurrent use.
type Detached struct {
	Controller *controller.Controller
	// Unread are the kinds of children that the controller does not watch, after a reconciliation.
	Unread []schema.GroupVersionKind
	// OtherWrites is MayWrite; nil = there is no other TemplateController.
	OtherWrites func(name string, kind schema.GroupKind, parent types.NamespacedName) bool
}

// New returns a Reconciler that publishes no Events and has no queue. o has the Clock, History, Logs and Memory.
func (d *Detached) New(o Options) *Reconciler {
	o.Controllers, o.SyncSoon = d, func(string) {}
	o.Backlog, o.Failures, o.Waiting = queue.NewBacklog(nil, 1), &queue.RateLimiter{}, permissions.NewWaiting()
	o.Recorder = record.NewEventRecorder(record.EventOptions{Events: nobody{}, Clock: o.Clock})
	return New(o)
}

// nobody discards Events.
type nobody struct{}

func (nobody) Announce(request.Announcement) {}

// Enter returns the controller.
func (d *Detached) Enter(string) (*controller.Controller, func()) { return d.Controller, func() {} }

// AddKinds adds to Unread.
func (d *Detached) AddKinds(_ string, kinds []schema.GroupVersionKind) {
	d.Unread = append(d.Unread, kinds...)
}

// Measure does nothing.
func (d *Detached) Measure(string, record.Outcome, time.Duration) {}

// Miss does nothing.
func (d *Detached) Miss(string, []schema.GroupKind) {}

// Count does nothing.
func (d *Detached) Count(queue.Key, status.ParentSummary) {}

// Left does nothing.
func (d *Detached) Left(queue.Key) {}

// MayPrune returns true.
func (d *Detached) MayPrune(context.Context, *controller.Controller) bool { return true }

// Confirmed returns true.
func (d *Detached) Confirmed(context.Context, *controller.Controller, *object.Object) bool {
	return true
}

// Unchanged returns true.
func (d *Detached) Unchanged(context.Context, *controller.Controller) bool { return true }

// MayWrite is OtherWrites.
func (d *Detached) MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool {
	return d.OtherWrites != nil && d.OtherWrites(name, kind, parent)
}
