package child

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/seal"
)

// marked are the marks of the children of a parent, and a function that returns a child that was applied then, by the clock of the
// server, with a seal for a parent that says another time.
func marked(t *testing.T) (m Marks, applied func(server, noted time.Time, parent types.UID) *object.Object) {
	t.Helper()
	parent := packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, uid: uid-one}}")
	maker := &Maker{Ownership: adopting(t), Parent: parent, Clock: clocktesting.NewFakePassiveClock(time.Time{})}
	m = maker.Marks(&v1.Child{Name: "maps"}, configMaps, "", false)
	return m, func(server, noted time.Time, parent types.UID) *object.Object {
		text := maker.Seals.Seal(seal.Subject{Controller: "apps", Parent: seal.Parent{UID: parent, Name: types.NamespacedName{Name: "one"}}, Kind: configMaps, Name: types.NamespacedName{Namespace: "ns", Name: "a"}}, seal.Note{Entry: "maps", Applied: noted})
		return changed(t, "  labels:", "  annotations: {"+v1.AnnotationSeal+": \""+text+"\"}\n  labels:", "operation: Apply,", "operation: Apply, time: \""+server.Format(time.RFC3339)+"\",")
	}
}

func TestWhoHasAppliedAnObjectIsToldByTheTime(t *testing.T) {
	m, applied := marked(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for why, row := range map[string]struct {
		server time.Time
		parent types.UID // that the seal is for
		facts  object.Fact
		want   bool
	}{
		"we have":                         {at, "uid-one", 0, false},
		"the clocks differ a little":      {at.Add(seal.Tolerance), "uid-one", 0, false},
		"somebody has later":              {at.Add(seal.Tolerance + time.Second), "uid-one", 0, true},
		"somebody had before":             {at.Add(-seal.Tolerance - time.Second), "uid-one", 0, true},
		"we have, as this process knows":  {at.Add(time.Hour), "uid-one", object.Fresh, false},
		"somebody has, as we have seen":   {at, "uid-one", object.Altered, true},
		"what its seal says is not known": {at.Add(time.Hour), "uid-two", 0, false},
	} {
		o := applied(row.server, at, row.parent)
		o.Note(row.facts)
		if got := m.Altered(o); got != row.want {
			t.Errorf("%s: somebody else has applied it: %v, want %v", why, got, row.want)
		}
	}
	if m.Altered(changed(t)) {
		t.Error("what says of no time when it was applied was altered")
	}
}

func TestAnApplyTellsTheClockOfTheServer(t *testing.T) {
	m, applied := marked(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	after := applied(at.Add(time.Hour), at, "uid-one")
	(&Wanted{Marks: m}).Applied(after)
	if got := m.maker.Seals.Stamp(at).Sub(at); got != time.Hour {
		t.Errorf("the server's clock is %s ahead, want an hour", got)
	}
	if !after.Noted(object.Ours) || !after.Noted(object.Fresh) {
		t.Error("it is not known that we have just applied it")
	}
}
