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

func TestWritesRequireLease(t *testing.T) {
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
		"one after the other":                               {[]audit.Event{a, request(0, "configmaps", 2, 3), b, request(1, "configmaps", 22, 23)}, 0, 1, 0},
		"two leader changes":                                {[]audit.Event{a, b, request(0, "leases", 40, 41), request(0, "configmaps", 42, 43)}, 0, 2, 0},
		"a write after another replica took the Lease":      {[]audit.Event{a, b, request(0, "configmaps", 22, 23)}, 1, 1, 0},
		"a write of a replica that never led":               {[]audit.Event{a, request(1, "configmaps", 2, 3)}, 1, 0, 0},
		"a write after a rejected Lease":                    {[]audit.Event{a, refused, request(1, "configmaps", 6, 7)}, 1, 0, 0},
		"a write that started before the leader change":     {[]audit.Event{a, request(0, "configmaps", 19, 30), b}, 0, 1, 0},
		"either replica can write during the leader change": {[]audit.Event{a, request(0, "configmaps", 20.5, 22), request(1, "configmaps", 20.6, 22), b}, 0, 1, 0},
		"a stalled write":                                   {[]audit.Event{a, b, late}, 0, 1, 1},
		"a stalled write without another leader":            {[]audit.Event{a, late}, 0, 0, 0},
		"access reviews are ignored":                        {[]audit.Event{a, b, asked}, 0, 1, 0},
		"no leader election":                                {[]audit.Event{request(0, "configmaps", 2, 3)}, 0, 0, 0},
	} {
		t.Run(why, func(t *testing.T) {
			leadership, got := &leadership{}, 0
			if err := leadership.judge(row.events); err != nil {
				got = strings.Count(err.Error(), "another replica led")
			}
			if got != row.want || leadership.switches != row.switches || leadership.late != row.late {
				t.Errorf("%d writes without the Lease, %d switches, %d late; want %d, %d, %d", got, leadership.switches, leadership.late, row.want, row.switches, row.late)
			}
		})
	}
}

func TestLeaseOfPreviousRoundIsKnown(t *testing.T) {
	leadership := &leadership{}
	if err := leadership.judge([]audit.Event{request(0, "leases", 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if leadership.judge([]audit.Event{request(1, "configmaps", 2, 3), request(1, "leases", 20, 21)}) == nil {
		t.Error("a write before the replica took the Lease is accepted")
	}
	if leadership.switches != 1 {
		t.Errorf("%d switches, want 1", leadership.switches)
	}
}
