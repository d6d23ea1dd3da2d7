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
	// longestNote is how many bytes of text the API server takes in an Event.
	// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
	longestNote = 1024
	// longestEventName leaves room behind the name of the object for what tells its Events apart.
	longestEventName = 200

	eventSenders    = 4    // how many Events are sent at a time
	queuedEvents    = 250  // how many wait for each of the senders
	rememberedSaid  = 4096 // of how many it is known how often they were said
	rememberedRates = 4096 // of how many objects, and of how many places, it is known how many Events they had
	eventTries      = 5
	firstEventDelay = time.Second

	// What the text of an Event says can be up to the user of a kind, and each new text is an object that the server keeps. So who
	// changes one parent all the time gets few of them, and who makes parents all the time no more than the server can bear.
	objectEvents      = 25 // about one object, in a row
	objectEventEvery  = time.Minute
	accountEvents     = 1000 // of one account in one namespace, in a row
	accountEventEvery = 100 * time.Millisecond
)

var eventResource = eventsv1.SchemeGroupVersion.WithResource("events")

// Announcer publishes Events. It is safe for concurrent use and does not block:
// Events are sent in the background, and dropped when there are too many.
//
// Each text about an object is an Event of its own, so that a new one is seen at once; the
// same text again is counted up in the Event that there is. No text is ever logged.
type Announcer struct {
	client   *Client
	now      func() time.Time
	delay    time.Duration // before the second try, doubling
	instance string
	seed     maphash.Seed
	senders  [eventSenders]chan event
	said     *lru.Cache // by Location, how often that Event was said
	rates    eventRates
	stop     context.CancelFunc
	done     sync.WaitGroup
}

// event is an Event to be sent.
type event struct {
	request.Announcement
	at    request.Location
	note  string
	about map[string]any // the object, as Events refer to it
	time  time.Time
}

// NewAnnouncer returns an announcer that publishes until it is closed, or ctx ends.
func NewAnnouncer(ctx context.Context, client *Client) *Announcer {
	host, _ := os.Hostname()
	const longestInstance = 128
	instance := "templater-" + host
	ctx, stop := context.WithCancel(ctx)
	a := &Announcer{
		client: client, now: time.Now, delay: firstEventDelay, instance: instance[:min(len(instance), longestInstance)],
		seed: maphash.MakeSeed(), said: lru.New(rememberedSaid), rates: newEventRates(), stop: stop,
	}
	for i := range a.senders {
		queue := make(chan event, queuedEvents)
		a.senders[i] = queue
		a.done.Go(func() { a.run(ctx, queue) })
	}
	return a
}

// Close ends the announcer; Events not sent by then are lost.
func (a *Announcer) Close() {
	a.stop()
	a.done.Wait()
}

// Announce publishes an Event.
func (a *Announcer) Announce(what request.Announcement) {
	e := event{Announcement: what, note: object.Line(what.Message, longestNote), time: a.now()}
	o := what.About
	e.Message, e.About = "", nil // what waits takes little room
	namespace := request.ObjectNamespace(o)
	e.about = map[string]any{"apiVersion": o.APIVersion(), "kind": o.Kind(), "name": o.Name(), "uid": string(o.UID())}
	if namespace != "" {
		e.about["namespace"] = namespace
	}
	e.at = request.Location{Resource: eventResource, Namespace: request.EventNamespace(o), Name: e.name(o)}
	if !a.rates.allow(&e, o.UID()) {
		klog.Background().V(2).Info("dropped an Event: too many about the object, or of the service account in the namespace", "about", o.String(), "reason", e.Reason)
		return
	}
	select {
	case a.senders[maphash.String(a.seed, string(o.UID()))%eventSenders] <- e: // Events about one object keep their order
	default:
		klog.Background().V(2).Info("dropped an Event: the queue is full", "about", o.String(), "reason", e.Reason)
	}
}

// name is the same for the same text about the same object, and so for every replica, too.
func (e *event) name(o *object.Object) string {
	name := o.Name()[:min(len(o.Name()), longestEventName)]
	if len(content.IsDNS1123Subdomain(name)) > 0 {
		name = "templater"
	}
	sum := sha256.Sum256(object.Append(nil, []any{string(o.UID()), e.Type, e.Reason, e.note}))
	return name + "." + hex.EncodeToString(sum[:8])
}

func (a *Announcer) run(ctx context.Context, queue <-chan event) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-queue:
			a.deliver(ctx, e)
		}
	}
}

// deliver sends an Event, and tries again for some time where the server does not answer.
func (a *Announcer) deliver(ctx context.Context, e event) {
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
		case !transient(err) || try == eventTries:
			klog.FromContext(ctx).Info("cannot publish an Event", "as", e.As, "about", e.about["kind"], "namespace", e.about["namespace"], "name", e.about["name"], "reason", e.Reason, "answer", request.Code(err))
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

// send creates the Event, or counts it up where there is one.
func (a *Announcer) send(ctx context.Context, e event) error {
	if known, ok := a.said.Get(e.at); ok {
		err := a.repeat(ctx, e, known.(int64)+1) //nolint:forcetypeassert // see said
		if !apierrors.IsNotFound(err) {          // the server forgets Events after some time
			return err
		}
	}
	err := a.create(ctx, e)
	switch {
	case err == nil:
		a.said.Add(e.at, int64(1))
	case apierrors.IsAlreadyExists(err): // from before a restart, or of another replica
		return a.repeat(ctx, e, 2)
	}
	return err
}

func (a *Announcer) create(ctx context.Context, e event) error {
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

// repeat has the Event say that it was said so often.
func (a *Announcer) repeat(ctx context.Context, e event, count int64) error {
	body := object.Append(nil, map[string]any{"series": map[string]any{"count": count, "lastObservedTime": micro(e.time)}})
	client := a.client.As(e.As)
	err := do(ctx, client.request(client.rest.Patch(types.MergePatchType), e.at).Body(body)).Error()
	if err == nil {
		a.said.Add(e.at, count)
	}
	return err
}

func micro(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

// transient reports whether the same request may go well later.
func transient(err error) bool {
	code := request.Code(err)
	return code == 0 || code == 429 || code >= 500
}

// eventRates bounds how many Events there are. It is safe for concurrent use.
type eventRates struct {
	mu       sync.Mutex
	objects  rate // by writer and object, so that nobody uses up what others may say about it
	accounts rate // by writer and namespace
}

func newEventRates() eventRates {
	return eventRates{
		objects:  rate{burst: objectEvents, every: objectEventEvery, due: lru.New(rememberedRates)},
		accounts: rate{burst: accountEvents, every: accountEventEvery, due: lru.New(rememberedRates)},
	}
}

// allow reports whether there may be one more Event, about the object with that UID, and counts it.
func (r *eventRates) allow(e *event, about types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.allow([2]string{e.As, string(about)}, e.time) && r.accounts.allow([2]string{e.As, e.at.Namespace}, e.time)
}

// rate allows so many at once, and one more each time that so long has passed.
type rate struct {
	burst int
	every time.Duration
	due   *lru.Cache // by key, when all that were allowed would have been at an even pace
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
