package record

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// deniedEvent is the response to a user who may not create Events.
func deniedEvent(user string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "", errors.New(`User "`+user+`" cannot create resource "events" in API group "events.k8s.io"`))
}

func TestRejectedEventsAreReportedForThreeNamespaces(t *testing.T) {
	const robot = "system:serviceaccount:team:robot"
	clock := clocktesting.NewFakePassiveClock(time.Now())
	s := NewEventRecorder(EventOptions{Clock: clock})
	for i := range 20 { // parents 0 to 19, distributed over five namespaces
		s.answered(pendingEvent{Key: keyOf("apps", fmt.Sprint(i)), to: access{robot, fmt.Sprint("ns-", i%5)}}, deniedEvent(robot))
	}
	s.answered(pendingEvent{Key: keyOf("others", "0"), to: access{robot, "a"}}, deniedEvent(robot))
	s.answered(pendingEvent{Key: keyOf("apps", "20"), to: access{"other", "a"}}, deniedEvent("other"))
	var got []string
	for _, one := range s.Refused("apps", robot) {
		got = append(got, one.Namespace+" "+one.Key.Parent.Name)
	}
	if diff := cmp.Diff([]string{"ns-0 0", "ns-1 1", "ns-2 12"}, got); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
	clock.SetTime(clock.Now().Add(problem.SlowRetry - time.Nanosecond))
	if wanted, news := s.wanted(pendingEvent{Key: keyOf("apps", "1"), to: access{robot, "ns-1"}}); wanted || news {
		t.Error("a moment before it is time, the server is asked again")
	}
	clock.SetTime(clock.Now().Add(time.Nanosecond))
	if wanted, _ := s.wanted(pendingEvent{Key: keyOf("apps", "1"), to: access{robot, "ns-1"}}); !wanted {
		t.Error("when it is time, the server is not asked")
	}
	before := len(s.dropped)
	again, changed := s.answered(pendingEvent{Key: keyOf("apps", "1"), to: access{robot, "ns-1"}}, nil)
	if len(again) != 3 || len(changed) != 1 || before-len(s.dropped) != 4 {
		t.Errorf("once it is granted: %v again, %v changed, %d refused before and %d after", again, changed, before, len(s.dropped))
	}
	s.answered(pendingEvent{Key: keyOf("apps", "3"), to: access{robot, "ns-3"}}, deniedEvent(robot))
	if len(s.refused) != 1 {
		t.Errorf("%d refusals are kept, want those that are fresh", len(s.refused))
	}
}

func TestForgetControllerRemovesEvents(t *testing.T) {
	r := NewEventRecorder(EventOptions{Clock: clocktesting.NewFakePassiveClock(time.Now())})
	for _, name := range []string{"apps", "others"} {
		r.answered(pendingEvent{Key: keyOf(name, "one"), to: access{"robot", "ns"}}, deniedEvent("robot"))
	}
	if r.ForgetController("apps"); len(r.dropped) != 1 || r.dropped[keyOf("others", "one")] == nil {
		t.Errorf("%v are kept", r.dropped)
	}
}

// published is an EventPublisher that records the last Event.
type published struct{ request.Announcement }

func (p *published) Announce(what request.Announcement) { p.Announcement = what }

// about returns an object for Events.
func about(t *testing.T) *object.Object {
	t.Helper()
	o, err := object.From(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "one", "namespace": "ns"}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEventMessageIsOneLine(t *testing.T) {
	var to published
	NewEventRecorder(EventOptions{Clock: clocktesting.NewFakePassiveClock(time.Now()), Events: &to}).Announce("robot", keyOf("apps", "one"), request.Announcement{About: about(t), Message: "a\nb"})
	if to.Message == "" || strings.Contains(to.Message, "\n") {
		t.Errorf("message %q, want one line", to.Message)
	}
	if to.As != "robot" {
		t.Errorf("it is written as %q, want the user of the TemplateController", to.As)
	}
}

// listening returns a recorder with queues, and the Event that it publishes.
func listening(t *testing.T) (*EventRecorder, *published) {
	t.Helper()
	parents, _ := queue.New(nil, queue.NewFairQueue(100, queue.NewTenants(), nil))
	controllers := workqueue.NewTypedDelayingQueue[string]()
	t.Cleanup(parents.ShutDown)
	t.Cleanup(controllers.ShutDown)
	to := &published{}
	return NewEventRecorder(EventOptions{Clock: clocktesting.NewFakePassiveClock(time.Now()), Events: to, Parents: parents, Controllers: controllers}), to
}

// enqueued empties the queues, and returns their keys.
func (r *EventRecorder) enqueued() []string {
	out := []string{}
	for r.o.Parents.Len() > 0 {
		key, _ := r.o.Parents.Get()
		r.o.Parents.Done(key)
		out = append(out, key.Controller+"/"+key.Parent.Name)
	}
	for r.o.Controllers.Len() > 0 {
		name, _ := r.o.Controllers.Get()
		r.o.Controllers.Done(name)
		out = append(out, name)
	}
	return out
}

func TestRejectedEventsTriggerReconciliation(t *testing.T) {
	r, to := listening(t)
	for i, step := range []struct {
		why    string
		parent string
		act    func()
		want   []string
	}{
		{"an answer that it is done changes nothing", "one", func() { to.Answered(nil) }, []string{}},
		{"nothing is refused yet", "one", func() {
			if !to.Wanted() {
				t.Error("an Event is not wanted")
			}
		}, []string{}},
		{"the first refusal is news", "one", func() { to.Answered(deniedEvent("robot")) }, []string{"apps"}},
		{"the second about the same parent is not", "one", func() { to.Answered(deniedEvent("robot")) }, []string{}},
		{"another parent that has something to say is news", "two", func() {
			if to.Wanted() {
				t.Error("the server is asked again at once")
			}
		}, []string{"apps"}},
		{"it is news once", "two", func() { to.Wanted() }, []string{}},
		{"once it is granted, who was not heard is looked at", "one", func() { to.Answered(nil) }, []string{"apps/two", "apps"}},
		{"then nothing is refused any more", "two", func() {
			if !to.Wanted() {
				t.Error("an Event is not wanted though it may be written again")
			}
		}, []string{}},
		{"another fault is no refusal", "two", func() { to.Answered(errors.New("no")) }, []string{}},
	} {
		r.Announce("robot", keyOf("apps", step.parent), request.Announcement{About: about(t)})
		step.act()
		if diff := cmp.Diff(step.want, r.enqueued()); diff != "" {
			t.Errorf("step %d, %s: looks (-want +got):\n%s", i, step.why, diff)
		}
	}
}

func TestRejectedEventIsRecordedAgain(t *testing.T) {
	r, to := listening(t)
	key := keyOf("apps", "one")
	for i, refuse := range []func(){
		func() { to.Answered(deniedEvent("robot")) },
		func() { to.Wanted() },
	} {
		if !r.Fresh(key, "bad") || r.Fresh(key, "bad") {
			t.Errorf("%d: what is new is not told, or what is not", i)
		}
		r.Announce("robot", key, request.Announcement{About: about(t)})
		refuse()
	}
	if !r.Fresh(key, "bad") {
		t.Error("what was refused counts as said")
	}
}

func TestForgetRemovesEventsOfParent(t *testing.T) {
	r := NewEventRecorder(EventOptions{Clock: clocktesting.NewFakePassiveClock(time.Now())})
	for _, name := range []string{"one", "two"} {
		r.answered(pendingEvent{Key: keyOf("apps", name), to: access{"robot", "ns"}}, deniedEvent("robot"))
	}
	r.Forget(keyOf("apps", "one"))
	if all := r.Refused("apps", "robot"); len(r.dropped) != 1 || len(all) != 1 || all[0].Key != keyOf("apps", "two") {
		t.Errorf("%v are kept", r.dropped)
	}
}

func TestResolvedProblemIsNotReportedAsDropped(t *testing.T) {
	key, other := keyOf("apps", "one"), keyOf("apps", "two")
	for why, row := range map[string]struct {
		meanwhile func(*EventRecorder)
		keys      []queue.Key // dropped
		enqueued  []string
	}{
		"it lasts":        {func(*EventRecorder) {}, []queue.Key{key, other}, []string{"apps"}},
		"it is over":      {func(r *EventRecorder) { r.Fresh(key, "") }, []queue.Key{other}, []string{}},
		"it is back":      {func(r *EventRecorder) { r.Fresh(key, ""); r.Fresh(key, "bad") }, []queue.Key{key, other}, []string{"apps"}},
		"the parent left": {func(r *EventRecorder) { r.Forget(key) }, []queue.Key{other}, []string{}},
	} {
		for how, refuse := range map[string]func(*published){
			"the server is asked":     func(to *published) { to.Answered(deniedEvent("robot")) },
			"the server is not asked": func(to *published) { to.Wanted() },
		} {
			r, to := listening(t)
			r.Announce("robot", other, request.Announcement{About: about(t)})
			to.Answered(deniedEvent("robot"))
			r.enqueued()
			r.Fresh(key, "bad")
			r.Announce("robot", key, request.Announcement{About: about(t)})
			row.meanwhile(r)
			refuse(to)
			left := slices.SortedFunc(maps.Keys(r.dropped), func(a, b queue.Key) int { return strings.Compare(a.Parent.Name, b.Parent.Name) })
			if diff := cmp.Diff(row.keys, left) + cmp.Diff(row.enqueued, r.enqueued()); diff != "" {
				t.Errorf("%s, %s: left out, and looks (-want +got):\n%s", why, how, diff)
			}
		}
	}
}
