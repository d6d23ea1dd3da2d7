package main

import (
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

var began = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// request lasts from one second to another.
func request(replica int, resource string, from, to float64) audit.Event {
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	e := audit.Event{Verb: "patch", UserAgent: "templater", Received: at(from), Reached: at(to)}
	e.User.Username, e.ObjectRef.Resource, e.ResponseStatus.Code = userOf(replica), resource, 200
	return e
}

func TestLeaderTurns(t *testing.T) {
	refused := request(1, "leases", 5, 5.1)
	refused.ResponseStatus.Code = 409
	late := request(0, "configmaps", 25, 25.1)
	late.UserAgent += link.LateMark
	asked := request(0, "selfsubjectaccessreviews", 25, 25.1)
	asked.ObjectRef.APIGroup = "authorization.k8s.io"
	a, b := request(0, "leases", 0, 1), request(1, "leases", 20, 21)
	for why, row := range map[string]struct {
		events         []audit.Event
		want           int // number of writes out of turn
		switches, late int
	}{
		"one after the other":                           {[]audit.Event{a, request(0, "configmaps", 2, 3), b, request(1, "configmaps", 22, 23)}, 0, 1, 0},
		"back and forth":                                {[]audit.Event{a, b, request(0, "leases", 40, 41), request(0, "configmaps", 42, 43)}, 0, 2, 0},
		"it writes when the lease is another's":         {[]audit.Event{a, b, request(0, "configmaps", 22, 23)}, 1, 1, 0},
		"it writes although it never led":               {[]audit.Event{a, request(1, "configmaps", 2, 3)}, 1, 0, 0},
		"it was refused the lease, and writes":          {[]audit.Event{a, refused, request(1, "configmaps", 6, 7)}, 1, 0, 0},
		"a write of before is answered after":           {[]audit.Event{a, request(0, "configmaps", 19, 30), b}, 0, 1, 0},
		"while the lease changes either may write":      {[]audit.Event{a, request(0, "configmaps", 20.5, 22), request(1, "configmaps", 20.6, 22), b}, 0, 1, 0},
		"a stall has held it up":                        {[]audit.Event{a, b, late}, 0, 1, 1},
		"a stall has held it up, and nobody else leads": {[]audit.Event{a, late}, 0, 0, 0},
		"a question is no write":                        {[]audit.Event{a, b, asked}, 0, 1, 0},
		"there is no election":                          {[]audit.Event{request(0, "configmaps", 2, 3)}, 0, 0, 0},
	} {
		t.Run(why, func(t *testing.T) {
			turns, got := &turns{}, 0
			if err := turns.judge(row.events); err != nil {
				got = strings.Count(err.Error(), "another replica led")
			}
			if got != row.want || turns.switches != row.switches || turns.late != row.late {
				t.Errorf("%d out of turn, %d switches, %d late; want %d, %d, %d", got, turns.switches, turns.late, row.want, row.switches, row.late)
			}
		})
	}
}

func TestTurnsRememberPreviousLeader(t *testing.T) {
	turns := &turns{}
	if err := turns.judge([]audit.Event{request(0, "leases", 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if turns.judge([]audit.Event{request(1, "configmaps", 2, 3), request(1, "leases", 20, 21)}) == nil {
		t.Error("a write before the lease was taken is in turn")
	}
	if turns.switches != 1 {
		t.Errorf("%d switches, want 1", turns.switches)
	}
}
