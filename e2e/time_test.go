package e2e

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// TestAfter has two ConfigMaps that expire: one while the operator runs, and one after a restart. Nothing is requested before, and the clock
// of the API server is asked once.
func TestAfter(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(`
watch: {apiVersion: "@group/v1", kind: Thing}
resyncPeriod: 0s
children:
- name: config
  template: |
    {{- if not (after .spec.ttl .metadata.creationTimestamp) }}
    {apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .metadata.name }}}}
    {{- end }}
`)
	const first, second = 12 * time.Second, 24 * time.Second
	s.thing("one", `{ttl: 12s}`)
	s.thing("two", `{ttl: 24s}`)
	created := map[string]time.Time{}
	for _, name := range []string{"one", "two"} {
		waitFor(t, s.things(), name, ready)
		waitFor(t, s.in(configMaps), name, going(false))
		waitFor(t, s.things(), name, func(o *unstructured.Unstructured) error {
			created[name] = o.GetCreationTimestamp().Time
			return nil
		})
	}
	op.quiet(2 * time.Second)
	before := mark(t)
	waitGone(t, s.in(configMaps), "one")
	op.quiet(time.Second)
	op.expectOneDeletionAt(before, created["one"].Add(first))

	op.Stop()
	op = startOperator(t)
	op.quiet(time.Second)
	before = mark(t)
	waitGone(t, s.in(configMaps), "two")
	op.quiet(time.Second)
	op.expectOneDeletionAt(before, created["two"].Add(second))
}

// expectOneDeletionAt checks that a parent was read, and its ConfigMap then deleted, at this moment. Before the first deletion for a parent,
// an operator reads it once more.
func (op *operator) expectOneDeletionAt(since audit.Mark, moment time.Time) {
	op.t.Helper()
	requests := op.requests(since)
	reads := slices.DeleteFunc(slices.Clone(requests), func(e audit.Event) bool { return e.Verb != "get" || e.ObjectRef.Resource != "things" })
	deletes := slices.DeleteFunc(slices.Clone(requests), func(e audit.Event) bool { return e.Verb != "delete" })
	if len(reads) < 1 || len(reads) > 2 || len(deletes) != 1 {
		op.t.Fatalf("want a read for the time, one before the first deletion, and one deletion: %v", tally(requests))
	}
	for _, e := range requests {
		if e.Received.Before(moment) && e.ObjectRef.Resource != "leases" {
			op.t.Errorf("%s of %s, %v before the moment", e.Verb, e.ObjectRef.Resource, moment.Sub(e.Received))
		}
	}
	op.t.Logf("deleted %v after the moment", deletes[0].Received.Sub(moment))
}
