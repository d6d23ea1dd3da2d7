package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"os"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
)

const (
	// longestNote is the maximum size of an Event note in bytes.
	// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
	longestNote = 1024
	// maxEventNameBytes limits the object name in the name of an Event, to leave room for the hash.
	maxEventNameBytes = 200

	eventSenders     = 4    // number of concurrent senders
	eventQueueLength = 250  // queue length per sender
	maxTrackedEvents = 4096 // number of Events whose count is tracked
	maxTrackedRates  = 4096 // number of objects, and of namespaces, whose rate is tracked
	maxEventTries    = 5
	firstEventDelay  = time.Second

	// Users of a kind can influence the text of Events, and each new text is another object in etcd. So edits of a single parent
	// cause few Events, and any number of new parents only as many as the server can bear.
	objectEvents      = 25 // burst per object
	objectEventEvery  = time.Minute
	accountEvents     = 1000 // burst per account and namespace
	accountEventEvery = 100 * time.Millisecond
)

var eventResource = eventsv1.SchemeGroupVersion.WithResource("events")

// EventWriter records Events. It is safe for concurrent use and does not block:
// Events are sent in the background, and dropped if the queue is full or a rate limit is exceeded.
//
// Each distinct text about an object is its own Event, so that it is visible immediately. A repeated text increases the count of
// the existing Event. The text of Events is never logged.
type EventWriter struct {
	client   *Client
	now      func() time.Time
	delay    time.Duration // before the first retry; doubles with each retry
	instance string
	seed     maphash.Seed
	senders  [eventSenders]chan event
	said     *lru.Cache // by Location, the count of that Event
	rates    eventRates
	stop     context.CancelFunc
	done     sync.WaitGroup
}

// event is a queued Event.
type event struct {
	request.Announcement
	at    request.Location
	note  string
	about map[string]any // the object, as the regarding field of the Event
	time  time.Time
}

// NewEventWriter returns an EventWriter that sends Events until Close is called or ctx is done.
func NewEventWriter(ctx context.Context, client *Client) *EventWriter {
	host, _ := os.Hostname()
	const maxInstanceBytes = 128
	instance := "templater-" + host
	ctx, stop := context.WithCancel(ctx)
	a := &EventWriter{
		client: client, now: time.Now, delay: firstEventDelay, instance: instance[:min(len(instance), maxInstanceBytes)],
		seed: maphash.MakeSeed(), said: lru.New(maxTrackedEvents), rates: newEventRates(), stop: stop,
	}
	for i := range a.senders {
		queue := make(chan event, eventQueueLength)
		a.senders[i] = queue
		a.done.Go(func() { a.run(ctx, queue) })
	}
	return a
}

// Close stops the EventWriter. It drops pending Events.
func (a *EventWriter) Close() {
	a.stop()
	a.done.Wait()
}

// Announce queues an Event. It does not block.
func (a *EventWriter) Announce(what request.Announcement) {
	e := event{Announcement: what, note: object.Line(what.Message, longestNote), time: a.now()}
	o := what.About
	e.Message, e.About = "", nil // the queue must not hold objects
	namespace := request.ObjectNamespace(o)
	e.about = map[string]any{"apiVersion": o.APIVersion(), "kind": o.Kind(), "name": o.Name(), "uid": string(o.UID())}
	if namespace != "" {
		e.about["namespace"] = namespace
	}
	e.at = request.Location{Resource: eventResource, Namespace: request.EventNamespace(o), Name: e.name(o)}
	if !a.rates.allow(&e, o.UID()) {
		klog.Background().V(2).Info("dropped an Event: rate limit exceeded", "object", o.String(), "reason", e.Reason)
		return
	}
	select {
	case a.senders[maphash.String(a.seed, string(o.UID()))%eventSenders] <- e: // Events about one object keep their order
	default:
		klog.Background().V(2).Info("dropped an Event: the queue is full", "object", o.String(), "reason", e.Reason)
	}
}

// name returns the name of the Event. It depends only on the object and the text, so all replicas use the same name.
func (e *event) name(o *object.Object) string {
	name := o.Name()[:min(len(o.Name()), maxEventNameBytes)]
	if len(content.IsDNS1123Subdomain(name)) > 0 {
		name = "templater"
	}
	sum := sha256.Sum256(object.Append(nil, []any{string(o.UID()), e.Type, e.Reason, e.note}))
	return name + "." + hex.EncodeToString(sum[:8])
}

func (a *EventWriter) run(ctx context.Context, queue <-chan event) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-queue:
			a.deliver(ctx, e)
		}
	}
}

// deliver sends an Event. It retries transient errors a few times, with exponential backoff.
func (a *EventWriter) deliver(ctx context.Context, e event) {
	delay := a.delay
	for try := 1; ; try++ {
		if e.Wanted != nil && !e.Wanted() {
			return
		}
		err := a.send(ctx, e)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			e.answered(nil)
			return
		case !transient(err) || try == maxEventTries:
			klog.FromContext(ctx).Info("cannot publish an Event", "as", e.As, "kind", e.about["kind"], "namespace", e.about["namespace"], "name", e.about["name"], "reason", e.Reason, "code", request.Code(err))
			e.answered(err)
			return
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		delay *= 2
	}
}

func (e *event) answered(err error) {
	if e.Answered != nil {
		e.Answered(err)
	}
}

// send creates the Event, or increases the count of the existing one.
func (a *EventWriter) send(ctx context.Context, e event) error {
	if known, ok := a.said.Get(e.at); ok {
		err := a.repeat(ctx, e, known.(int64)+1) //nolint:forcetypeassert // see said
		if !apierrors.IsNotFound(err) {          // Events expire
			return err
		}
	}
	err := a.create(ctx, e)
	switch {
	case err == nil:
		a.said.Add(e.at, int64(1))
	case apierrors.IsAlreadyExists(err): // created before a restart, or by another replica
		return a.repeat(ctx, e, 2)
	}
	return err
}

func (a *EventWriter) create(ctx context.Context, e event) error {
	body := object.Append(nil, map[string]any{
		"apiVersion": eventsv1.SchemeGroupVersion.String(), "kind": "Event",
		"metadata":  map[string]any{"namespace": e.at.Namespace, "name": e.at.Name},
		"eventTime": micro(e.time), "type": e.Type, "reason": e.Reason, "note": e.note, "regarding": e.about,
		"action": "Reconcile", "reportingController": "templater", "reportingInstance": a.instance,
	})
	at := e.at
	at.Name = ""
	client := a.client.As(e.As)
	return do(ctx, client.request(client.rest.Post(), at).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)).Error()
}

// repeat sets the count of the Event.
func (a *EventWriter) repeat(ctx context.Context, e event, count int64) error {
	body := object.Append(nil, map[string]any{"series": map[string]any{"count": count, "lastObservedTime": micro(e.time)}})
	client := a.client.As(e.As)
	err := do(ctx, client.request(client.rest.Patch(types.MergePatchType), e.at).Body(body)).Error()
	if err == nil {
		a.said.Add(e.at, count)
	}
	return err
}

func micro(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

// transient reports whether a retry of the same request may succeed.
func transient(err error) bool {
	code := request.Code(err)
	return code == 0 || code == 429 || code >= 500
}

// eventRates limits the rate of Events. It is safe for concurrent use.
type eventRates struct {
	mu       sync.Mutex
	objects  rate // by account and object, so that no account uses up the limit of another
	accounts rate // by account and namespace
}

func newEventRates() eventRates {
	return eventRates{
		objects:  rate{burst: objectEvents, every: objectEventEvery, due: lru.New(maxTrackedRates)},
		accounts: rate{burst: accountEvents, every: accountEventEvery, due: lru.New(maxTrackedRates)},
	}
}

// allow reports whether the limits allow another Event about the object with that UID, and counts it if so.
func (r *eventRates) allow(e *event, about types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.allow([2]string{e.As, string(about)}, e.time) && r.accounts.allow([2]string{e.As, e.at.Namespace}, e.time)
}

// rate is a token bucket: it allows a burst, then one more per interval.
type rate struct {
	burst int
	every time.Duration
	due   *lru.Cache // by key, the time when the bucket is full again
}

func (r *rate) allow(key any, now time.Time) bool {
	due := now
	if known, ok := r.due.Get(key); ok && known.(time.Time).After(now) { //nolint:forcetypeassert // there is nothing else in it
		due = known.(time.Time) //nolint:forcetypeassert // the same
	}
	if due.Sub(now) > time.Duration(r.burst-1)*r.every {
		return false
	}
	r.due.Add(key, due.Add(r.every))
	return true
}
