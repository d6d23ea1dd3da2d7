package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	"github.com/templater-dev/templater/internal/object"
)

// longestNote is how much text the API server takes in an Event.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
const longestNote = 1024

// Announcer publishes Events. It is safe for concurrent use and does not block:
// Events are sent in the background, and dropped when there are too many.
type Announcer struct {
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
}

// NewAnnouncer returns an announcer that publishes until ctx ends.
func NewAnnouncer(ctx context.Context, client kubernetes.Interface) (*Announcer, error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("start publishing Events: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := eventsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return &Announcer{broadcaster, broadcaster.NewRecorder(scheme, "templater")}, nil
}

// Announce publishes an Event about o. The type is Normal or Warning.
func (a *Announcer) Announce(o *object.Object, eventType, reason, message string) {
	if len(message) > longestNote {
		message = message[:longestNote-len("…")]
		for len(message) > 0 && message[len(message)-1] >= 0x80 {
			message = message[:len(message)-1] // do not cut a character in half
		}
		message += "…"
	}
	about := &corev1.ObjectReference{
		APIVersion: o.APIVersion(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name(), UID: o.UID(), ResourceVersion: o.ResourceVersion(),
	}
	a.recorder.Eventf(about, nil, eventType, reason, "Reconcile", "%s", message)
}

// Close ends the announcer; Events not sent by then are lost.
func (a *Announcer) Close() { a.broadcaster.Shutdown() }
