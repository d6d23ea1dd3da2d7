package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/templater-dev/templater/e2e/chaos/model"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// once checks that the operators write no object of Paced again without a reason: a revision reaches a parent once.
type once struct {
	log  audit.Log
	mark audit.Mark
}

// check checks the writes since the last check. retries is the number of retries of rollouts in the round.
func (w *once) check(round *model.Round, retries int) error {
	mark, err := w.log.Mark()
	if err != nil {
		return err
	}
	events, err := w.log.Since(w.mark, func(e audit.Event) bool {
		return strings.HasPrefix(e.User.Username, user) && !reads(e) && e.Verb != "delete" && e.ResponseStatus.Code/100 == 2 &&
			e.ObjectRef.Resource == "configmaps" && strings.HasPrefix(e.ObjectRef.Name, model.Paced+"-")
	})
	if err != nil {
		return err
	}
	w.mark = mark
	return repeated(events, round, retries)
}

// repeated returns an error with the objects that have more writes than reasons.
func repeated(events []audit.Event, round *model.Round, retries int) (err error) {
	counts := map[model.ChildID]int{}
	for _, e := range events {
		counts[model.ChildID{Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name}]++
	}
	for id, n := range counts {
		if most := reasons(id, round) + retries; n > most {
			err = errors.Join(err, fmt.Errorf("%s was written %d times, want at most %d", id, n, most))
		}
	}
	return err
}

// reasons is how often an object may be written in a round: once, and again after each action that may change, delete or replace it, and
// after each fault, which may hide an earlier write.
func reasons(id model.ChildID, round *model.Round) int {
	n := 1
	for _, a := range round.Users[model.KindOf(model.Paced)] {
		ofParent := a.ID.Name == "" || a.ID.Namespace == id.Namespace && strings.HasPrefix(id.Name+"-", model.Paced+"-"+a.ID.Name+"-")
		if ofParent && (a.Child.Name == "" || a.Child == id) {
			n++
		}
	}
	for _, lane := range round.Faults {
		n += len(lane)
	}
	return n
}
