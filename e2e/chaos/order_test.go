package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/e2e/chaos/link"
	"github.com/templater-dev/templater/e2e/cluster/audit"
)

func TestDependencyOrder(t *testing.T) {
	at := func(second int) time.Time { return began.Add(time.Duration(second) * time.Second) }
	write := func(second int, verb, name string, code int) audit.Event {
		e := request(0, "configmaps", float64(second), float64(second)+0.5)
		e.Verb, e.ObjectRef.Namespace, e.ObjectRef.Name, e.ResponseStatus.Code = verb, "chaos-a", "chain-p"+name, code
		return e
	}
	by := func(who string, e audit.Event) audit.Event { e.User.Username = who; return e }
	made := func(second int, name string) audit.Event { return write(second, "patch", name, 201) }
	deleted := func(second int, name string) audit.Event { return write(second, "delete", name, 200) }
	parent := func(second int, verb string, code int) audit.Event {
		e := by("admin", write(second, verb, "", code))
		e.ObjectRef.Resource, e.ObjectRef.Name = "chains", "p"
		return e
	}
	late := func(e audit.Event) audit.Event { e.UserAgent += link.LateMark; return e }
	ended := parent(0, "delete", 200)
	asked := func(second, code int, found string) audit.Event { // whether the parent exists
		e := by(userOf(0), parent(second, "get", code))
		e.ResponseStatus.Details.Name = found
		return e
	}
	turned := func(second int, name string) []readied { return []readied{{"chaos-a/chain-p" + name, at(second)}} }
	for why, row := range map[string]struct {
		events []audit.Event
		since  []readied
		want   string // part of the error; empty = none
	}{
		"they come one after the other":             {[]audit.Event{made(1, ""), made(3, "-web"), made(4, "-last")}, turned(2, ""), ""},
		"the second comes before the first":         {[]audit.Event{made(3, "-web")}, nil, "chaos-a/chain-p was not ready"},
		"the second comes before the first is fine": {[]audit.Event{made(1, ""), made(3, "-web")}, turned(4, ""), "chaos-a/chain-p was not ready"},
		"the third comes before the second":         {[]audit.Event{made(1, ""), made(3, "-last")}, turned(2, ""), "chaos-a/chain-p-web was not ready"},
		"the first is another one by now":           {[]audit.Event{made(1, ""), made(3, ""), made(4, "-web")}, turned(2, ""), "chaos-a/chain-p was not ready"},
		"somebody else makes the second":            {[]audit.Event{made(1, ""), by("stranger", made(3, "-web"))}, nil, ""},
		"what happened to the first is not known":   {[]audit.Event{made(3, "-web")}, turned(2, ""), ""},
		"another one may come at any time":          {[]audit.Event{made(3, "-extra")}, nil, ""},
		"they go one after the other":               {[]audit.Event{ended, deleted(1, "-last"), deleted(2, "-web"), deleted(3, "")}, nil, ""},
		"the first goes before the second":          {[]audit.Event{ended, parent(0, "patch", 200), deleted(1, ""), deleted(2, "-web")}, nil, "it was there although chaos-a/chain-p,"},
		"the first goes while the second is held": {[]audit.Event{
			ended, deleted(1, "-web"), deleted(2, ""), by("stranger", write(3, "patch", "-web", 200)),
		}, nil, "it was there although chaos-a/chain-p,"},
		"what is left is cleaned up":                         {[]audit.Event{ended, deleted(1, ""), by("admin", deleted(2, "-web"))}, nil, ""},
		"the garbage collector has no order":                 {[]audit.Event{ended, by("collector", deleted(1, "")), deleted(2, "-web")}, nil, ""},
		"what an earlier parent has left goes without order": {[]audit.Event{ended, parent(0, "patch", 201), deleted(1, ""), deleted(2, "-web")}, nil, ""},
		"the first goes, and all come again":                 {[]audit.Event{ended, deleted(1, ""), made(2, ""), made(4, "-web"), deleted(5, "-web")}, turned(3, ""), ""},
		"all come again, the first of them late":             {[]audit.Event{ended, deleted(1, ""), late(made(2, "")), made(4, "-web"), by("collector", write(5, "patch", "-web", 200))}, turned(3, ""), ""},
		"all come again, all of them late":                   {[]audit.Event{ended, deleted(1, ""), late(made(2, "")), late(made(4, "-web")), by("collector", write(5, "patch", "-web", 200))}, turned(3, ""), ""},
		"one that was held up is not judged":                 {[]audit.Event{late(made(3, "-web")), ended, late(deleted(4, "")), late(deleted(5, "-web"))}, nil, ""},
		"what a released parent has left goes without order": {[]audit.Event{ended, asked(1, 404, "p"), deleted(2, ""), deleted(3, "-web")}, nil, ""},
		"its last child before the backup, too": {[]audit.Event{
			made(0, "-backup"), ended, asked(1, 404, "p"), deleted(2, "-last"),
		}, nil, ""},
		"the parent is gone only after its first child": {[]audit.Event{ended, deleted(1, ""), asked(2, 404, "p"), deleted(3, "-web")}, nil, "it was there although chaos-a/chain-p,"},
		"the parent is still there":                     {[]audit.Event{ended, asked(1, 200, ""), deleted(2, ""), deleted(3, "-web")}, nil, "it was there although chaos-a/chain-p,"},
		"the kind of the parent is not served":          {[]audit.Event{ended, asked(1, 404, ""), deleted(2, ""), deleted(3, "-web")}, nil, "it was there although chaos-a/chain-p,"},
		"the last goes before the backup":               {[]audit.Event{ended, made(1, "-backup"), deleted(2, "-last")}, nil, "chaos-a/chain-p-backup was not ready"},
		"the last goes when the backup is":              {[]audit.Event{ended, made(1, "-backup"), deleted(3, "-last")}, turned(2, "-backup"), ""},
		"the last is deleted by who likes to":           {[]audit.Event{ended, made(1, "-backup"), by("stranger", deleted(2, "-last"))}, nil, ""},
	} {
		t.Run(why, func(t *testing.T) {
			err := newOrder(audit.Log{}).judge(slices.DeleteFunc(row.events, func(e audit.Event) bool { return !concernsOrder(e) }), row.since)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}
