package simulate

import (
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// logs are the logs of a State: see State.Logs. Pods without logs have not started.
type logs struct{ of map[string]map[string]string }

// Begin returns all logs.
func (l logs) Begin(queue.Key, string, time.Duration) podlogs.Reading { return l }

// Forget does nothing.
func (l logs) Forget(queue.Key) {}

// Logs returns the logs of a Pod.
func (l logs) Logs(pod *object.Object, _ request.LogOptions) map[string]string {
	return l.of[pod.Namespace()+"/"+pod.Name()]
}

// Version is constant: logs do not change during a reconciliation.
func (l logs) Version() uint64 { return 0 }

// End does nothing.
func (l logs) End() {}
