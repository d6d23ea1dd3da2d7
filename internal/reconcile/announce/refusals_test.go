package announce

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// deniedEvent is what the server answers where a user may not write Events.
func deniedEvent(user string) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "", errors.New(`User "`+user+`" cannot create resource "events" in API group "events.k8s.io"`))
}

func TestSilenceIsToldOfThreeNamespacesInOrder(t *testing.T) {
	const robot = "system:serviceaccount:team:robot"
	clock := clocktesting.NewFakePassiveClock(time.Now())
	s := New(Options{Clock: clock})
	for i := range 20 { // parents 0 to 19, in five namespaces by turns
		s.answered(keyOf("apps", fmt.Sprint(i)), audience{robot, fmt.Sprint("ns-", i%5)}, deniedEvent(robot))
	}
	s.answered(keyOf("others", "0"), audience{robot, "a"}, deniedEvent(robot))
	s.answered(keyOf("apps", "20"), audience{"other", "a"}, deniedEvent("other"))
	var got []string
	for _, one := range s.Silenced("apps", robot) {
		got = append(got, one.Namespace+" "+one.Key.Parent.Name)
	}
	if diff := cmp.Diff([]string{"ns-0 0", "ns-1 1", "ns-2 12"}, got); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
	clock.SetTime(clock.Now().Add(problem.SlowRetry - time.Nanosecond))
	if wanted, news := s.wanted(keyOf("apps", "1"), audience{robot, "ns-1"}); wanted || news {
		t.Error("a moment before it is time, the server is asked again")
	}
	clock.SetTime(clock.Now().Add(time.Nanosecond))
	if wanted, _ := s.wanted(keyOf("apps", "1"), audience{robot, "ns-1"}); !wanted {
		t.Error("when it is time, the server is not asked")
	}
	before := len(s.unheard)
	again, changed := s.answered(keyOf("apps", "1"), audience{robot, "ns-1"}, nil)
	if len(again) != 3 || len(changed) != 1 || before-len(s.unheard) != 4 {
		t.Errorf("once it is granted: %v again, %v changed, %d refused before and %d after", again, changed, before, len(s.unheard))
	}
	s.answered(keyOf("apps", "3"), audience{robot, "ns-3"}, deniedEvent(robot))
	if len(s.refused) != 1 {
		t.Errorf("%d refusals are kept, want those that are fresh", len(s.refused))
	}
}

func TestNothingIsKeptOfEventsOfATemplateControllerThatIsGone(t *testing.T) {
	r := New(Options{Clock: clocktesting.NewFakePassiveClock(time.Now())})
	for _, name := range []string{"apps", "others"} {
		r.answered(keyOf(name, "one"), audience{"robot", "ns"}, deniedEvent("robot"))
	}
	if r.ForgetController("apps"); len(r.unheard) != 1 || r.unheard[keyOf("others", "one")] == nil {
		t.Errorf("%v are kept", r.unheard)
	}
}

// published is a Publisher that keeps the last message.
type published struct{ message string }

func (p *published) Announce(what kube.Announcement) { p.message = what.Message }

func TestAnEventIsOneLine(t *testing.T) {
	about, err := object.From(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "one", "namespace": "ns"}})
	if err != nil {
		t.Fatal(err)
	}
	var to published
	New(Options{Clock: clocktesting.NewFakePassiveClock(time.Now()), Events: &to}).Announce("", keyOf("apps", "one"), kube.Announcement{About: about, Message: "a\nb"})
	if to.message == "" || strings.Contains(to.message, "\n") {
		t.Errorf("message %q, want one line", to.message)
	}
}
