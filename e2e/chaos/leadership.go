package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// leadership checks the order of the replicas' writes: each must arrive while its replica holds the Lease. Only a delayed
// one may arrive later, see docs/operate/high-availability.md.
type leadership struct {
	log    audit.Log
	mark   audit.Mark
	leases []audit.Event // of the previous round and this one

	switches int // number of leader changes
	late     int // number of writes that were delayed until another replica was the leader
}

// check checks the writes since the last check. No requests may be in flight.
func (t *leadership) check() error {
	mark, err := t.log.Mark()
	if err != nil {
		return err
	}
	events, err := t.log.Since(t.mark, func(e audit.Event) bool {
		return strings.HasPrefix(e.User.Username, user) && !reads(e)
	})
	if err != nil {
		return err
	}
	t.mark = mark
	return t.judge(events)
}

func reads(e audit.Event) bool { return e.Verb == "get" || e.Verb == "list" || e.Verb == "watch" }

// judge returns an error with the writes out of turn.
func (t *leadership) judge(events []audit.Event) error {
	before := len(t.leases)
	for _, e := range events {
		if e.ObjectRef.Resource == "leases" && e.ResponseStatus.Code/100 == 2 {
			t.leases = append(t.leases, e)
		}
	}
	for i := max(before, 1); i < len(t.leases); i++ {
		if t.leases[i].User.Username != t.leases[i-1].User.Username {
			t.switches++
		}
	}
	var errs []error
	for _, e := range events {
		if asks := e.ObjectRef.APIGroup == "authorization.k8s.io"; asks || e.ObjectRef.Resource == "leases" || t.holds(e) {
			continue
		}
		if strings.HasSuffix(e.UserAgent, link.LateMark) {
			t.late++
			continue
		}
		errs = append(errs, fmt.Errorf("%s, at %s: another replica led", e, e.Received.Format(time.RFC3339Nano)))
	}
	if len(t.leases) > before {
		t.leases = slices.Clone(t.leases[before:])
	}
	return errors.Join(errs...)
}

// holds reports whether the writer may have held the Lease when its write arrived: no one else had changed the Lease
// since the writer did. The exact time of a Lease change is unknown; it is between request and response.
func (t *leadership) holds(e audit.Event) bool {
	var last audit.Event
	for _, l := range t.leases {
		if !l.Reached.After(e.Received) {
			if l.Reached.After(last.Reached) {
				last = l
			}
		} else if l.Received.Before(e.Received) && l.User.Username == e.User.Username {
			return true
		}
	}
	return last.User.Username == "" || last.User.Username == e.User.Username
}
