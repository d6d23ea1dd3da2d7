package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// departure is a way for the Thing "leaver" to stop being a parent, while "stayer" remains one.
type departure struct {
	how   string
	watch string // fields of spec.watch in addition to the kind
	leave func(s *scope)
}

var departures = []departure{
	{
		"its label is removed", `labelSelector: {matchLabels: {team: red}}`,
		func(s *scope) { s.patch(s.things(), "leaver", `{"metadata":{"labels":{"team":null}}}`) },
	},
	{
		"the label selector is edited", `labelSelector: {matchLabels: {team: red}}`,
		func(s *scope) {
			s.patchController(`{"spec":{"watch":{"labelSelector":{"matchLabels":{"keep":"yes"}}}}}`)
		},
	},
	{
		"a label selector is added", ``,
		func(s *scope) {
			s.patchController(`{"spec":{"watch":{"labelSelector":{"matchLabels":{"keep":"yes"}}}}}`)
		},
	},
	{
		"a field of its spec is no longer selected", `fieldSelector: spec.tier=gold`,
		func(s *scope) { s.patch(s.things(), "leaver", `{"spec":{"tier":"tin"}}`) },
	},
	{
		"the field selector is edited", `fieldSelector: metadata.name!=nobody`,
		func(s *scope) { s.patchController(`{"spec":{"watch":{"fieldSelector":"metadata.name!=leaver"}}}`) },
	},
}

// leaverAndStayer creates both parents, each with one child to be pruned, and one to be kept by prunePolicy Orphan.
func (s *scope) leaverAndStayer(watch string) {
	s.t.Helper()
	s.apply(`
apiVersion: "@group/v1"
kind: Thing
metadata: {name: leaver, labels: {team: red}}
spec: {tier: gold, drop: {a: "1"}, keep: {a: "1"}}
---
apiVersion: "@group/v1"
kind: Thing
metadata: {name: stayer, labels: {team: red, keep: "yes"}}
spec: {tier: gold, drop: {a: "1"}}
`)
	s.controller("watch:\n  apiVersion: \"@group/v1\"\n  kind: Thing\n  " + watch + "\nchildren:" + configMapsOf("drop", "") + configMapsOf("keep", "prunePolicy: Orphan"))
	s.expectConfigMaps("leaver-drop-a", "leaver-keep-a", "stayer-drop-a")
}

func TestUnmatchedParentLosesChildren(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	for _, down := range []bool{false, true} {
		for _, d := range departures {
			t.Run(fmt.Sprintf("%s, operator down: %v", d.how, down), func(t *testing.T) {
				s := s.at(t)
				s.id, s.owned = newName(t), nil
				t.Cleanup(s.remove)
				t.Cleanup(s.clear)
				s.leaverAndStayer(d.watch)
				stay := s.stay("leaver-keep-a", "stayer-drop-a")
				if down {
					op.Stop()
				}
				d.leave(s)
				if down {
					op = startOperator(op.t)
				}
				// Orphans are kept, and so are the children of stayer, which is reconciled after that.
				s.expectConfigMaps("leaver-keep-a", "stayer-drop-a")
				s.patch(s.things(), "stayer", `{"spec":{"drop":{"b":"1"}}}`)
				s.expectConfigMaps("leaver-keep-a", "stayer-drop-a", "stayer-drop-b")
				waitFor(t, s.things(), "leaver", nil)
				stay()
			})
		}
	}
}

// clear deletes the scope's TemplateController, Things and ConfigMaps.
func (s *scope) clear() {
	s.kubectlDone("delete", "tc", s.id, "--ignore-not-found", "--wait")
	s.kubectlDone("delete", "things."+s.group, "--all", "--wait")
	s.kubectlDone("delete", "configmaps", "-l", "templater.dev/controller="+s.id, "--wait")
}

func TestDeselectedNamespaceLosesChildren(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@id-2", labels: {team: red}}}`)
	for _, down := range []bool{false, true} {
		for _, row := range []struct {
			how, watch  string
			leave, back func(*scope)
		}{
			{
				"its label is removed", `namespaceSelector: {matchLabels: {team: red}}`,
				func(s *scope) {
					s.patch(env.client.Resource(namespaces), "@ns", `{"metadata":{"labels":{"team":null}}}`)
				},
				func(s *scope) {
					s.patch(env.client.Resource(namespaces), "@ns", `{"metadata":{"labels":{"team":"red"}}}`)
				},
			},
			{
				"namespaces are edited", `namespaces: ["@ns", "@ns-2"]`,
				func(s *scope) { s.patchController(`{"spec":{"watch":{"namespaces":["@ns-2"]}}}`) },
				func(s *scope) { s.patchController(`{"spec":{"watch":{"namespaces":["@ns","@ns-2"]}}}`) },
			},
		} {
			t.Run(fmt.Sprintf("%s, operator down: %v", row.how, down), func(t *testing.T) {
				s := s.at(t)
				s.id, s.owned = newName(t), nil
				t.Cleanup(s.remove)
				t.Cleanup(s.clear)
				s.thing("one", `{drop: {a: "1"}}`)
				s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: other, namespace: "@ns-2"}, spec: {drop: {a: "1"}}}`)
				s.controller("watch:\n  apiVersion: \"@group/v1\"\n  kind: Thing\n  " + row.watch + "\nchildren:" + configMapsOf("drop", ""))
				s.expectConfigMaps("one-drop-a")
				others := env.client.Resource(configMaps).Namespace(s.ns + "-2")
				other := waitFor(t, others, "other-drop-a", nil)
				if down {
					op.Stop()
				}
				row.leave(s)
				if down {
					op = startOperator(op.t)
				}
				s.expectConfigMaps()
				row.back(s)
				s.expectConfigMaps("one-drop-a")
				if now := waitFor(t, others, "other-drop-a", nil); now.GetUID() != other.GetUID() {
					t.Error("a child in the other namespace was replaced")
				}
			})
		}
	}
}

func TestDeletedParentLeavesChildrenToGarbageCollector(t *testing.T) {
	parallel(t)
	needsAudit(t)
	for _, row := range []struct{ how, watch string }{
		{"without selectors", ""},
		{"with selectors", `labelSelector: {matchLabels: {team: red}}`},
	} {
		t.Run(row.how, func(t *testing.T) {
			s := newCollectedScope(t)
			op := startOperator(t)
			s.leaverAndStayer(row.watch)
			op.quiet(time.Second)
			before, stay, deleted := mark(t), s.stay("stayer-drop-a"), time.Now()
			s.delete(s.things(), "leaver")
			s.expectConfigMaps("stayer-drop-a")
			op.quiet(2 * time.Second)
			op.expectLeftToCollector("a deleted parent", before, deleted)
			s.patch(s.things(), "stayer", `{"spec":{"drop":{"b":"1"}}}`)
			s.expectConfigMaps("stayer-drop-a", "stayer-drop-b")
			stay()
		})
	}
}

// The garbage collector misses children of a kind that existed only briefly. Templater cannot distinguish an
// unavailable API from a deleted one, so it keeps them until their TemplateController is deleted.
func childrenOfADeletedDefinitionGoWithTheirTemplateController(s *scope, op *operator) {
	t := s.t
	start := mark(t)
	s.applyController("@id", "whenDeleted: DeleteChildren\n"+oneConfigMap)
	s.defineThing()
	s.thing("one", `{color: red}`)
	s.thing("two", `{color: red}`)
	s.expectConfigMaps("one", "two")
	s.delete(env.client.Resource(definitions), "things.@group")
	// A child that the garbage collector deletes before the operator observes the deletion may be recreated once.
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		return condition(o, "Watching", "False", "KindNotFound")
	})
	op.quiet(3 * time.Second)
	deletions, err := env.cluster.Audit().Since(start, func(e audit.Event) bool {
		return e.Verb == "delete" && e.ObjectRef.Resource == "configmaps" && e.ObjectRef.Namespace == s.ns && e.User.Username == op.user
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range deletions {
		t.Errorf("the operator deleted a child while the kind is not served: %s", e)
	}
	s.delete(env.client.Resource(controllers), "@id")
	s.expectNoConfigMaps()
}

func TestMissingKindsAreWatchedOnceInstalled(t *testing.T) {
	parallel(t)
	s := newScope(t)
	startOperator(t)
	s.applyController("@id", watchThings+`
children:
- name: gadget
  template: |
    apiVersion: @group/v1
    kind: Gadget
    metadata: {name: "{{ .metadata.name }}"}
    spec: {color: {{ .spec.color }}}
`)
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		return errors.Join(condition(o, "Accepted", "True", ""), condition(o, "Watching", "False", "KindNotFound"), condition(o, "Ready", "False", "KindNotFound"))
	})
	began := time.Now()
	s.defineThing()
	s.thing("one", `{color: red}`)
	s.waitController("@id", ready)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		return condition(o, "Ready", "False", "ChildKindNotFound")
	})
	t.Logf("worked %s after the definition of the parents was applied", time.Since(began).Round(10*time.Millisecond))

	began = time.Now()
	s.define("Gadget", "Namespaced")
	waitFor(t, s.in(s.resource("gadgets")), "one", nil)
	waitFor(t, s.things(), "one", ready)
	s.took("the definition of the children was applied: the child is there", began)

	// The kind of the children is deleted and recreated.
	s.delete(env.client.Resource(definitions), "gadgets.@group")
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		return condition(o, "Ready", "False", "ChildKindNotFound")
	})
	waitGone(t, env.client.Resource(definitions), "gadgets."+s.group)
	s.define("Gadget", "Namespaced")
	waitFor(t, s.in(s.resource("gadgets")), "one", nil)
	waitFor(t, s.things(), "one", ready)
}
