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
		"created in order":                         {[]audit.Event{made(1, ""), made(3, "-web"), made(4, "-last")}, turned(2, ""), ""},
		"second created before the first":          {[]audit.Event{made(3, "-web")}, nil, "chaos-a/chain-p was not ready"},
		"second created before the first is ready": {[]audit.Event{made(1, ""), made(3, "-web")}, turned(4, ""), "chaos-a/chain-p was not ready"},
		"third created before the second":          {[]audit.Event{made(1, ""), made(3, "-last")}, turned(2, ""), "chaos-a/chain-p-web was not ready"},
		"first was recreated and is not ready":     {[]audit.Event{made(1, ""), made(3, ""), made(4, "-web")}, turned(2, ""), "chaos-a/chain-p was not ready"},
		"another client creates the second":        {[]audit.Event{made(1, ""), by("other-client", made(3, "-web"))}, nil, ""},
		"events of the first are unknown":          {[]audit.Event{made(3, "-web")}, turned(2, ""), ""},
		"child without dependencies":               {[]audit.Event{made(3, "-extra")}, nil, ""},
		"deleted in order":                         {[]audit.Event{ended, deleted(1, "-last"), deleted(2, "-web"), deleted(3, "")}, nil, ""},
		"first deleted before the second":          {[]audit.Event{ended, parent(0, "patch", 200), deleted(1, ""), deleted(2, "-web")}, nil, "it existed after its dependency chaos-a/chain-p was deleted"},
		"first deleted while the second has a finalizer": {[]audit.Event{
			ended, deleted(1, "-web"), deleted(2, ""), by("other-client", write(3, "patch", "-web", 200)),
		}, nil, "it existed after its dependency chaos-a/chain-p was deleted"},
		"an administrator deletes the rest":                  {[]audit.Event{ended, deleted(1, ""), by("admin", deleted(2, "-web"))}, nil, ""},
		"deletions by the garbage collector are not ordered": {[]audit.Event{ended, by("collector", deleted(1, "")), deleted(2, "-web")}, nil, ""},
		"children of an earlier parent are not ordered":      {[]audit.Event{ended, parent(0, "patch", 201), deleted(1, ""), deleted(2, "-web")}, nil, ""},
		"first deleted, all recreated":                       {[]audit.Event{ended, deleted(1, ""), made(2, ""), made(4, "-web"), deleted(5, "-web")}, turned(3, ""), ""},
		"all recreated, the first with a delayed request":    {[]audit.Event{ended, deleted(1, ""), late(made(2, "")), made(4, "-web"), by("collector", write(5, "patch", "-web", 200))}, turned(3, ""), ""},
		"all recreated with delayed requests":                {[]audit.Event{ended, deleted(1, ""), late(made(2, "")), late(made(4, "-web")), by("collector", write(5, "patch", "-web", 200))}, turned(3, ""), ""},
		"delayed requests are ignored":                       {[]audit.Event{late(made(3, "-web")), ended, late(deleted(4, "")), late(deleted(5, "-web"))}, nil, ""},
		"children of a released parent are not ordered":      {[]audit.Event{ended, asked(1, 404, "p"), deleted(2, ""), deleted(3, "-web")}, nil, ""},
		"the last child of a released parent before the backup": {[]audit.Event{
			made(0, "-backup"), ended, asked(1, 404, "p"), deleted(2, "-last"),
		}, nil, ""},
		"parent deleted after its first child":      {[]audit.Event{ended, deleted(1, ""), asked(2, 404, "p"), deleted(3, "-web")}, nil, "it existed after its dependency chaos-a/chain-p was deleted"},
		"parent exists":                             {[]audit.Event{ended, asked(1, 200, ""), deleted(2, ""), deleted(3, "-web")}, nil, "it existed after its dependency chaos-a/chain-p was deleted"},
		"unserved kind of the parent":               {[]audit.Event{ended, asked(1, 404, ""), deleted(2, ""), deleted(3, "-web")}, nil, "it existed after its dependency chaos-a/chain-p was deleted"},
		"last deleted before the backup is created": {[]audit.Event{ended, made(1, "-backup"), deleted(2, "-last")}, nil, "chaos-a/chain-p-backup was not ready"},
		"last deleted once the backup is ready":     {[]audit.Event{ended, made(1, "-backup"), deleted(3, "-last")}, turned(2, "-backup"), ""},
		"another client deletes the last":           {[]audit.Event{ended, made(1, "-backup"), by("other-client", deleted(2, "-last"))}, nil, ""},
	} {
		t.Run(why, func(t *testing.T) {
			err := newOrder(audit.Log{}).judge(slices.DeleteFunc(row.events, func(e audit.Event) bool { return !concernsOrder(e) }), row.since)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q in it", err, row.want)
			}
		})
	}
}
