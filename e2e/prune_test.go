package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configMapsOf creates a ConfigMap NAME-PREFIX-KEY for each entry of spec.PREFIX.
func configMapsOf(prefix, more string) string {
	return `
- name: ` + prefix + `
` + indent(more) + `
  template: |
    {{- range $key, $value := .spec.` + prefix + ` }}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}-` + prefix + `-{{ $key }}"}
    data: {value: {{ $value }}}
    {{- end }}
`
}

const watchThings = `watch: {apiVersion: "@group/v1", kind: Thing}`

// expectConfigMaps waits until the ConfigMaps created by the TemplateController @id are exactly these.
func (s *scope) expectConfigMaps(want ...string) {
	s.t.Helper()
	slices.Sort(want)
	eventually(s.t, soon, func() error {
		return same("ConfigMaps", want, names(s.list(s.in(configMaps), "templater.dev/controller=@id")))
	})
}

// stay returns a check that these ConfigMaps have not been replaced since now. The check is meaningful once a later
// event has had its effect.
func (s *scope) stay(names ...string) (check func()) {
	s.t.Helper()
	those := func() map[string]string {
		all := uids(s.list(s.in(configMaps), ""))
		maps.DeleteFunc(all, func(name, _ string) bool { return !slices.Contains(names, name) })
		return all
	}
	before := those()
	if len(before) != len(names) {
		s.t.Fatalf("there are %v, want %v", before, names)
	}
	return func() {
		s.t.Helper()
		if diff := cmp.Diff(before, those()); diff != "" {
			s.t.Errorf("UIDs of the ConfigMaps that are to stay (-before +after):\n%s", diff)
		}
	}
}

func TestPruneFollowsTemplateAndPrunePolicy(t *testing.T) {
	parallel(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	all := watchThings + "\nchildren:" + configMapsOf("drop", "prunePolicy: Delete") + configMapsOf("keep", "prunePolicy: Orphan") + configMapsOf("other", "")
	s.controller(all)
	s.thing("one", `{drop: {a: "1", b: "1"}, keep: {a: "1", b: "1"}, other: {a: "1"}}`)
	s.expectConfigMaps("one-drop-a", "one-drop-b", "one-keep-a", "one-keep-b", "one-other-a")
	stay := s.stay("one-keep-a", "one-keep-b")

	t.Log("the templates stop to yield some")
	s.thing("one", `{drop: {a: "1"}, keep: {a: "1"}, other: {a: "1"}}`)
	s.expectConfigMaps("one-drop-a", "one-keep-a", "one-keep-b", "one-other-a")

	t.Log("what had stayed is taken up again")
	s.thing("one", `{drop: {a: "1"}, keep: {a: "1", b: "2"}, other: {a: "1"}}`)
	waitFor(t, s.in(configMaps), "one-keep-b", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"value": "2"}, o.Object["data"])
	})

	t.Log("a child is renamed: another key, another name")
	s.thing("one", `{drop: {c: "1"}, keep: {a: "1", b: "2"}, other: {a: "1"}}`)
	s.expectConfigMaps("one-drop-c", "one-keep-a", "one-keep-b", "one-other-a")

	t.Log("the object moves to another entry, and keeps its identity")
	moved := waitFor(t, s.in(configMaps), "one-drop-c", nil)
	s.controller(watchThings + "\nchildren:" + `
- name: moved
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-drop-c"}
    data: {value: "1"}
` + configMapsOf("keep", "prunePolicy: Orphan"))
	s.expectConfigMaps("one-drop-c", "one-keep-a", "one-keep-b")
	waitFor(t, s.in(configMaps), "one-drop-c", func(o *unstructured.Unstructured) error {
		return errors.Join(same("UID", moved.GetUID(), o.GetUID()), same("label", "moved", o.GetLabels()["templater.dev/child"]))
	})

	t.Log("child templates removed: the recorded policy of each object applies")
	s.controller(watchThings + "\nchildren:" + configMapsOf("other", ""))
	s.thing("one", `{other: {z: "1"}}`)
	s.expectConfigMaps("one-keep-a", "one-keep-b", "one-other-z")

	t.Log("the same while the operator is down")
	op.Stop()
	s.applyController("@id", watchThings+"\nchildren:"+configMapsOf("drop", ""))
	s.thing("one", `{drop: {x: "1"}}`)
	op = startOperator(t)
	s.expectConfigMaps("one-keep-a", "one-keep-b", "one-drop-x")
	stay()

	t.Log("parent deleted while the operator is down: its children are deleted")
	op.quiet(time.Second)
	op.Stop()
	for _, o := range slices.Concat(s.list(s.things(), ""), s.list(s.in(configMaps), "templater.dev/controller=@id")) {
		if f := o.GetFinalizers(); len(f) > 0 {
			t.Errorf("finalizers of %s %s: got %v, want none", o.GetKind(), o.GetName(), f)
		}
	}
	s.delete(s.things(), "one")
	waitGone(t, s.things(), "one")
	s.nothingLeft("templater.dev/controller=@id")
}

func TestOrphanChildrenOutliveParent(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	s.controller(watchThings + "\nchildren:" + configMapsOf("orphan", "deletionPolicy: Orphan") + configMapsOf("drop", ""))
	s.thing("one", `{orphan: {a: "1", b: "1"}, drop: {a: "1"}}`)
	s.expectConfigMaps("one-drop-a", "one-orphan-a", "one-orphan-b")
	orphan := waitFor(t, s.in(configMaps), "one-orphan-a", nil)
	if refs := orphan.GetOwnerReferences(); len(refs) > 0 {
		t.Errorf("owner references of a child under Orphan: got %v, want none", refs)
	}

	t.Log("while the parent is there, they are children like all others")
	s.thing("one", `{orphan: {a: "2"}, drop: {a: "1"}}`)
	s.expectConfigMaps("one-drop-a", "one-orphan-a")
	s.patch(s.in(configMaps), "one-orphan-a", `{"data":{"value":"edited"}}`)
	waitFor(t, s.in(configMaps), "one-orphan-a", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"value": "2"}, o.Object["data"])
	})
	op.quiet(time.Second)

	before, deleted := mark(t), time.Now()
	s.delete(s.things(), "one")
	waitGone(t, s.in(configMaps), "one-drop-a")
	op.quiet(2 * time.Second)
	op.expectLeftToCollector("the parent of orphans deleted", before, deleted)
	s.expectConfigMaps("one-orphan-a")
	if now := waitFor(t, s.in(configMaps), "one-orphan-a", nil); now.GetUID() != orphan.GetUID() {
		t.Error("the orphan was replaced")
	}
}

func TestTemplateControllerDeletionFollowsWhenDeleted(t *testing.T) {
	parallel(t)
	for _, down := range []bool{false, true} {
		for _, policy := range []string{"OrphanChildren", "DeleteChildren"} {
			t.Run(fmt.Sprintf("%s, operator down: %v", policy, down), func(t *testing.T) {
				s := newCollectedScope(t)
				op := startOperator(t)
				s.controller(watchThings + "\nwhenDeleted: " + policy + "\nchildren:" + configMapsOf("drop", "") + configMapsOf("orphan", "deletionPolicy: Orphan"))
				s.thing("one", `{drop: {a: "1"}, orphan: {a: "1"}}`)
				s.thing("two", `{drop: {a: "1"}}`)
				s.expectConfigMaps("one-drop-a", "one-orphan-a", "two-drop-a")
				stay := s.stay("one-drop-a", "one-orphan-a", "two-drop-a")
				if down {
					op.Stop()
				}
				s.delete(env.client.Resource(controllers), "@id")
				if down {
					op = startOperator(t)
				}
				waitGone(t, env.client.Resource(controllers), s.id)
				if policy == "DeleteChildren" {
					s.expectConfigMaps("one-orphan-a") // because of its own policy
					return
				}
				if !down {
					op.waitLogged("TemplateController was deleted", s.id)
				}
				s.patch(s.things(), "two", `{"spec":{"drop":{"b":"1"}}}`) // no longer a parent
				op.quiet(time.Second)
				s.expectConfigMaps("one-drop-a", "one-orphan-a", "two-drop-a")
				stay()
				s.delete(s.in(configMaps), "two-drop-a")
				s.delete(s.things(), "one") // the owner reference is kept
				s.expectConfigMaps("one-orphan-a")
			})
		}
	}
}

// expectNoConfigMaps waits until all ConfigMaps of the TemplateController @id are deleted.
func (s *scope) expectNoConfigMaps() {
	s.t.Helper()
	s.nothingLeft("templater.dev/controller=@id")
}

func TestSuspendStopsWritesUntilResumed(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(watchThings + "\nchildren:" + configMapsOf("drop", ""))
	s.thing("one", `{drop: {a: "1", b: "1"}}`)
	s.expectConfigMaps("one-drop-a", "one-drop-b")
	s.patchController(`{"spec":{"suspend":true}}`)
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Suspended") })
	op.quiet(time.Second)
	before, stay := mark(t), s.stay("one-drop-b")
	s.thing("one", `{drop: {a: "2", b: "1"}}`)
	s.thing("two", `{drop: {a: "1"}}`)
	s.delete(s.in(configMaps), "one-drop-a")
	s.patch(s.in(configMaps), "one-drop-b", `{"data":{"value":"edited"}}`)
	op.expectRequests("changes under suspend", before, map[string]int{})
	s.expectConfigMaps("one-drop-b")
	s.patchController(`{"spec":{"suspend":false}}`)
	s.expectConfigMaps("one-drop-a", "one-drop-b", "two-drop-a")
	stay()
	waitFor(t, s.in(configMaps), "one-drop-a", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"value": "2"}, o.Object["data"])
	})
}

func TestTemplateEditUpdatesAllParents(t *testing.T) {
	parallel(t)
	const parents = 30
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	spec := func(value string) string {
		return watchThings + `
values: {value: ` + value + `}
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}"}
    data: {value: {{ .values.value }}}
`
	}
	s.manyThings(parents)
	s.controller(spec("first"))
	s.waitChildren(configMaps, parents)
	before := uids(s.list(s.in(configMaps), "templater.dev/controller=@id"))
	s.controller(spec("second"))
	eventually(t, soon, func() error {
		for _, o := range s.list(s.in(configMaps), "templater.dev/controller=@id") {
			if err := same(o.GetName(), map[string]any{"value": "second"}, o.Object["data"]); err != nil {
				return err
			}
		}
		return nil
	})
	if diff := cmp.Diff(before, uids(s.list(s.in(configMaps), "templater.dev/controller=@id"))); diff != "" {
		t.Errorf("UIDs (-before +after):\n%s", diff)
	}
}

// uids maps names to UIDs.
func uids(objects []unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, o := range objects {
		out[o.GetName()] = string(o.GetUID())
	}
	return out
}
