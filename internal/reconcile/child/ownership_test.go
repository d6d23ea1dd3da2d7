package child

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestAdoptionIsForOlderTemplateControllersOnly(t *testing.T) {
	since := time.Unix(1767225600, 0)
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(since.Add(d)) }
	done, before := at(0), at(-time.Hour)
	for why, row := range map[string]struct {
		made  metav1.Time
		done  *metav1.Time
		since time.Time
		want  bool
	}{
		"it is older":                          {at(-time.Second), nil, since, true},
		"it is as old":                         {at(0), nil, since, false},
		"it is newer":                          {at(time.Second), nil, since, false},
		"all are sealed":                       {at(-time.Second), &done, since, false},
		"all were sealed when a key was lost":  {at(-time.Hour), &before, since, true},
		"nobody knows since when there is one": {at(-time.Second), nil, time.Time{}, false},
	} {
		tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: row.made}, Status: v1.TemplateControllerStatus{SealedSince: row.done}}
		if got := Adopting(tc, row.since); got != row.want {
			t.Errorf("%s: %v", why, got)
		}
	}
}

func TestDeparted(t *testing.T) {
	d := &Departed{}
	d.Note("apps", "parent", "child")
	if !d.has("apps", "parent", "child") || d.has("other", "parent", "child") || d.has("apps", "other", "child") || d.has("apps", "parent", "other") {
		t.Error("it remembers something else")
	}
	for i := range 20 * departures {
		d.Note("apps", "parent", types.UID(strconv.Itoa(i)))
	}
	if d.has("apps", "parent", "child") {
		t.Error("it never forgets")
	}
}
