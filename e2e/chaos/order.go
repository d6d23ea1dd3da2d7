package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// readied records that an object, by namespace and name, became ready, not before that time.
type readied struct {
	name string
	at   time.Time
}

// order checks the order in which the children of Chain are created and deleted: one is created once the previous one
// is ready, and deleted once the next one is gone. It relies on entries of the audit log, not on missing ones: after
// the API server was killed, the log may lack some writes.
type order struct {
	log   audit.Log
	mark  audit.Mark
	ready map[string]bool      // whether the last known state of an object is that it became ready
	made  map[string]bool      // objects that were ever created
	gone  map[string]time.Time // when the operator deleted an object because its parent is being deleted
	ends  map[string]bool      // parents that are being deleted; leftovers of a deleted parent are deleted in any order
	seen  int                  // number of checked writes
}

const (
	// parents is the resource of the parents of Chain.
	parents = "chains"
	// admin is the user that deletes and cleans up.
	admin = "admin"
)

func newOrder(log audit.Log) *order {
	return &order{log: log, ready: map[string]bool{}, made: map[string]bool{}, gone: map[string]time.Time{}, ends: map[string]bool{}}
}

// check checks the writes since the last check, given the objects that became ready since then.
func (o *order) check(since []readied) error {
	mark, err := o.log.Mark()
	if err != nil {
		return err
	}
	events, err := o.log.Since(o.mark, concernsOrder)
	if err != nil {
		return err
	}
	o.mark = mark
	return o.judge(events, since)
}

// concernsOrder reports whether a request is a write to a parent or a child, or shows that a parent does not exist.
func concernsOrder(e audit.Event) bool {
	ours := e.ObjectRef.Resource == "configmaps" && strings.HasPrefix(e.ObjectRef.Name, model.Chain+"-") || e.ObjectRef.Resource == parents
	written := !reads(e) && e.ResponseStatus.Code/100 == 2
	return ours && (written || missesParent(e))
}

// missesParent reports whether the server returned that no parent of that name exists. A 404 for an unserved kind does
// not count.
func missesParent(e audit.Event) bool {
	return e.ObjectRef.Resource == parents && e.ResponseStatus.Code == 404 && e.ResponseStatus.Details.Name == e.ObjectRef.Name
}

// judge returns an error with the objects that were created or deleted too early.
func (o *order) judge(events []audit.Event, since []readied) error {
	slices.SortStableFunc(events, func(a, b audit.Event) int { return a.Received.Compare(b.Received) })
	slices.SortStableFunc(since, func(a, b readied) int { return a.at.Compare(b.at) })
	var errs []error
	for _, e := range events {
		for len(since) > 0 && since[0].at.Before(e.Received) {
			o.ready[since[0].name], since = true, since[1:]
		}
		errs = append(errs, o.follow(e))
	}
	for _, r := range since {
		o.ready[r.name] = true
	}
	return errors.Join(errs...)
}

// follow records a write, and returns an error if it came too early, or shows that an earlier one did. A delayed write
// is not checked: it is only recorded.
func (o *order) follow(e audit.Event) error {
	name := e.ObjectRef.Namespace + "/" + e.ObjectRef.Name
	if e.ObjectRef.Resource == parents {
		o.ends[name] = !missesParent(e) && (e.Verb == "delete" || o.ends[name] && e.ResponseStatus.Code != 201)
		return nil
	}
	before, after := neighbors(name)
	operators := strings.HasPrefix(e.User.Username, user)
	late := strings.HasSuffix(e.UserAgent, link.LateMark)
	if !late {
		o.seen++
	}
	if e.ResponseStatus.Code == 201 {
		o.ready[name], o.made[name] = false, true
		delete(o.gone, name)
		delete(o.gone, before)
		if operators && !late && before != "" && !cmp.Or(o.ready[before], strings.HasSuffix(before, model.WebMark) && o.made[before]) {
			return fmt.Errorf("%s, at %s: %s was not ready", e, e.Received.Format(time.RFC3339Nano), before)
		}
		return nil
	}
	if late {
		return nil
	}
	cleansUp := e.Verb == "delete" && e.User.Username == admin // leftovers of an orphaning deletion, or an assumed one: see deleteLeft
	if since, gone := o.gone[before]; gone && e.Received.After(since) && !cleansUp {
		return fmt.Errorf("%s, at %s: it existed after its dependency %s was deleted at %s", e, e.Received.Format(time.RFC3339Nano), before, since.Format(time.RFC3339Nano))
	}
	if e.Verb == "delete" && operators && o.ends[strings.Replace(first(name), "/"+model.Chain+"-", "/", 1)] {
		o.gone[name] = e.Reached
		if backup := first(name) + model.BackupMark; after == "" && o.made[backup] && !o.ready[backup] {
			return fmt.Errorf("%s, at %s: %s was not ready", e, e.Received.Format(time.RFC3339Nano), backup)
		}
	}
	return nil
}

// first is the name of the first child of the parent that has the named child.
func first(name string) string {
	for _, mark := range []string{model.WebMark, model.LastMark, model.BackupMark, "-extra"} {
		name = strings.TrimSuffix(name, mark)
	}
	return name
}

// neighbors are the previous and the next child; "" = none.
func neighbors(name string) (before, after string) {
	switch base := first(name); name {
	case base:
		return "", base + model.WebMark
	case base + model.WebMark:
		return base, base + model.LastMark
	case base + model.LastMark:
		return base + model.WebMark, ""
	default:
		return "", "none" // it has no defined order
	}
}
