package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ofGadgets creates a child next to each Gadget and one in another namespace, which templater itself deletes with its
// parent.
const ofGadgets = `
watch: {apiVersion: "@group/v2", kind: Gadget, namespaces: ["@ns"]}
children:
- name: near
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-near"}, data: {color: "{{ .spec.color | default "none" }}"}}
- name: far
  scope: Cluster
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-far", namespace: "@id-far"}, data: {color: "{{ .spec.color | default "none" }}"}}
`

// TestBrokenParentConversionKeepsChildren makes the conversion webhook of the parents' kind fail, be unreachable, and
// strip labels, annotations and values, before and after a restart of templater. While it fails, another parent is
// created, because the API server cannot update an existing one.
func TestBrokenParentConversionKeepsChildren(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	var mode atomic.Value
	mode.Store("works")
	url, bundle := asks(t, func(w http.ResponseWriter, r *http.Request) { convert(mode.Load().(string), w, r) })
	s.defineThing()
	far := s.beside("far")
	s.apply(strings.NewReplacer(
		"URL", url, "BUNDLE", bundle, "schema: &schema", "subresources: {status: {}}, schema: &schema", "schema: *schema", "subresources: {status: {}}, schema: *schema",
		"properties: {spec:", "properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}, spec:",
	).Replace(gadgets))
	s.untie(s.resource("gadgets"))
	op := startOperator(t)
	n := newNeighbor(s)
	s.controller(ofGadgets)
	parents := s.in(s.resource("gadgets")) // in the storage version, which needs no conversion
	color := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			return same("data", map[string]any{"color": want}, o.Object["data"])
		}
	}
	uids := func(want string) [2]types.UID {
		t.Helper()
		return [2]types.UID{waitFor(t, s.in(configMaps), "p-near", color(want)).GetUID(), waitFor(t, far.in(configMaps), "p-far", color(want)).GetUID()}
	}
	s.apply(`{apiVersion: "@group/v1", kind: Gadget, metadata: {name: p}, spec: {color: red}}`)
	waitFor(t, parents, "p", ready)
	before, since := uids("red"), mark(t)
	for i, next := range []string{"fails", "dead", "strips"} {
		for _, restart := range []bool{false, true} {
			what := fmt.Sprintf("the conversion %s, restart %v", next, restart)
			mode.Store(next)
			if restart {
				op.Stop()
				op = startOperator(t)
			}
			text := fmt.Sprintf("c%d-%v", i, restart)
			if next == "strips" {
				s.patch(parents, "p", `{"spec":{"color":"lost"}}`)
			} else {
				s.apply(`{apiVersion: "@group/v1", kind: Gadget, metadata: {name: "` + text + `"}, spec: {color: red}}`)
				s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Watching", "False", "ListFailed") })
			}
			waits := n.waits(5)
			pause(t.Context(), 2*time.Second)
			t.Logf("%s: a neighbor waits %v", what, waits)
			o := waitFor(t, env.client.Resource(controllers), s.id, nil)
			if told := fmt.Sprint(o.Object["status"]) + string(op.logged()); strings.Contains(told, "secret-of-the-webhook") {
				t.Errorf("%s: the message of the webhook is reported", what)
			}
			mode.Store("works")
			s.patch(parents, "p", `{"spec":{"color":"`+text+`"}}`)
			if after := uids(text); after != before {
				t.Errorf("%s: the children are %v, want %v", what, after, before)
			}
			s.waitController("@id", ready)
			s.waitEach(parents, "", ready)
		}
	}
	expectNoDeletion(t, op.requests(since))
	s.delete(parents, "p")
	waitGone(t, parents, "p")
	waitGone(t, far.in(configMaps), "p-far")
}
