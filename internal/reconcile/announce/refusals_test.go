package announce

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

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
