package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/kube/request"
)

// announce announces distinct Events about an object, and waits until all allowed ones have been sent.
func (s *eventServer) announce(t *testing.T, a *EventWriter, as, object, reason string, texts int) {
	t.Helper()
	for i := range texts {
		a.Announce(request.Announcement{As: as, About: about(t, object), Type: "Warning", Reason: reason, Message: fmt.Sprint(i)})
	}
}

// count returns the number of Events with that reason.
func (s *eventServer) count(reason string) int {
	n := 0
	for _, event := range s.said() {
		if strings.Contains(event, " "+reason+": ") {
			n++
		}
	}
	return n
}

// TestEventsAreRateLimitedPerParent has a user who edits one object so that it fails with another text each time. Each Event is
// an object in etcd that no quota on the user's own kind counts.
func TestEventsAreRateLimitedPerParent(t *testing.T) {
	a, s := newEventWriter(t)
	now := time.Unix(1767225600, 0)
	a.now = func() time.Time { return now }
	s.announce(t, a, "", parent, "Flood", 10*objectEvents)
	s.announce(t, a, "robot", parent, "Other", 1) // another account's Event about the same object
	s.announce(t, a, "", strings.Replace(parent, "u-1", "u-2", 1), "Neighbor", 1)
	eventually(t, "all Events", func() bool {
		return s.count("Flood") == objectEvents && s.count("Other") == 1 && s.count("Neighbor") == 1
	})
	now = now.Add(objectEventEvery)
	s.announce(t, a, "", parent, "Later", 5)
	s.announce(t, a, "", strings.Replace(parent, "u-1", "u-3", 1), "End", 1)
	eventually(t, "one more Event after a minute", func() bool { return s.count("Later") == 1 && s.count("End") == 1 })
	now = now.Add(1000 * objectEventEvery)
	s.announce(t, a, "", parent, "Calm", 10*objectEvents)
	eventually(t, "as many as in the beginning, and no more", func() bool { return s.count("Calm") == objectEvents })
	if n := s.count("Flood"); n != objectEvents {
		t.Errorf("%d Events in the beginning, want %d", n, objectEvents)
	}
}

// TestEventsAreRateLimitedPerServiceAccount has a user who creates objects continuously.
func TestEventsAreRateLimitedPerServiceAccount(t *testing.T) {
	now := time.Unix(1767225600, 0)
	rates := newEventRates()
	allowed := func(as, namespace string, objects int) (n int) {
		e := &event{Announcement: request.Announcement{As: as}, at: request.Location{Namespace: namespace}, time: now}
		for i := range objects {
			if rates.allow(e, about(t, strings.Replace(parent, "u-1", fmt.Sprint(now.UnixNano(), namespace, i), 1)).UID()) {
				n++
			}
		}
		return n
	}
	if n := allowed("robot", "ns", 3*accountEvents); n != accountEvents {
		t.Errorf("%d Events, want %d", n, accountEvents)
	}
	for who, place := range map[string]string{"robot": "other", "neighbor": "ns"} {
		if n := allowed(who, place, 10); n != 10 {
			t.Errorf("%s in %s: %d Events, want all 10", who, place, n)
		}
	}
	now = now.Add(3 * accountEventEvery)
	if n := allowed("robot", "ns", 10); n != 3 {
		t.Errorf("%d Events later, want 3", n)
	}
}
