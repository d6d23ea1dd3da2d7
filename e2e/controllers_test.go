package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTwoTemplateControllersShareParentKind(t *testing.T) {
	parallel(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	s.thing("one", `{drop: {a: "1"}, other: {b: "1"}}`)
	s.controllerNamed("@id-x", watchThings+"\nchildren:"+configMapsOf("drop", "")+"status: {template: 'x: {{ len .children.drop }}', readyCondition: XReady}\n")
	s.controllerNamed("@id-y", watchThings+"\nchildren:"+configMapsOf("other", "")+"status: {template: 'y: {{ len .children.other }}', readyCondition: YReady}\n")
	both := func(x, y int64) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			status, _, _ := unstructured.NestedMap(o.Object, "status")
			delete(status, "conditions")
			return errors.Join(same("status", map[string]any{"x": x, "y": y}, status),
				condition(o, "XReady", "True", ""), condition(o, "YReady", "True", ""))
		}
	}
	waitFor(t, s.things(), "one", both(1, 1))
	s.thing("one", `{drop: {a: "1", b: "1"}, other: {b: "1"}}`)
	waitFor(t, s.things(), "one", both(2, 1))
	op.quiet(time.Second) // they do not fight

	// Both render the same object: the second reports a conflict, and does not take it over.
	s.thing("one", `{drop: {a: "1"}, other: {}}`)
	waitFor(t, s.things(), "one", both(1, 0))
	s.controllerNamed("@id-z", watchThings+`
children:
- name: same
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-drop-a"}
    data: {value: theirs}
status: {readyCondition: ZReady}
`)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "ZReady", "False", "ChildConflict") })
	waitFor(t, s.in(configMaps), "one-drop-a", func(o *unstructured.Unstructured) error {
		return errors.Join(same("data", map[string]any{"value": "1"}, o.Object["data"]),
			same("label", s.id+"-x", o.GetLabels()["templater.dev/controller"]))
	})

	// One is deleted with its children; the children of the other are kept.
	s.patch(env.client.Resource(controllers), "@id-x", `{"spec":{"whenDeleted":"DeleteChildren"}}`)
	waitFor(t, env.client.Resource(controllers), s.id+"-x", func(o *unstructured.Unstructured) error {
		return same("finalizers", []string{"templater.dev/children"}, o.GetFinalizers())
	})
	s.thing("one", `{drop: {a: "1"}, other: {c: "1"}}`)
	waitFor(t, s.in(configMaps), "one-other-c", nil)
	stay := s.stay("one-other-c")
	s.delete(env.client.Resource(controllers), "@id-z")
	// Until the operator has stopped it, it would recreate the object once the other's is deleted.
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		return condition(o, "ZReady", "Unknown", "TemplateControllerDeleted")
	})
	s.delete(env.client.Resource(controllers), "@id-x")
	waitGone(t, env.client.Resource(controllers), s.id+"-x")
	waitGone(t, s.in(configMaps), "one-drop-a")
	s.thing("one", `{drop: {a: "1"}, other: {c: "1", d: "1"}}`) // the other one is reconciled after that
	waitFor(t, s.in(configMaps), "one-other-d", nil)
	stay()
}

func TestClusterScopedParentsWithNamespacedChildren(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.define("Team", "Cluster")
	startOperator(t)
	s.controller(`
watch: {apiVersion: "@group/v1", kind: Team}
children:
- name: config
  template: |
    {{- range .spec.namespaces }}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}", namespace: "{{ . }}"}
    data: {team: "{{ $.metadata.name }}"}
    {{- end }}
status:
  template: |
    places: {{ .children.config | collect "metadata.namespace" | toJson }}
`)
	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@ns-2"}}`)
	s.apply(`{apiVersion: "@group/v1", kind: Team, metadata: {name: blue}, spec: {namespaces: ["@ns", "@ns-2"]}}`)
	teams := env.client.Resource(s.resource("teams"))
	places := func(want ...any) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			got, _, _ := unstructured.NestedSlice(o.Object, "status", "places")
			return errors.Join(ready(o), same("places", want, got))
		}
	}
	waitFor(t, teams, "blue", places(s.ns, s.ns+"-2"))
	other := env.client.Resource(configMaps).Namespace(s.ns + "-2")
	s.delete(other, "blue") // it is recreated
	waitFor(t, other, "blue", nil)
	s.apply(`{apiVersion: "@group/v1", kind: Team, metadata: {name: blue}, spec: {namespaces: ["@ns-2"]}}`)
	waitFor(t, teams, "blue", places(s.ns+"-2"))
	waitGone(t, s.in(configMaps), "blue")
}

func TestBuiltInKindsAsParents(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	op := startOperator(t)
	s.controllerNamed("@id-ns", `
watch: {apiVersion: v1, kind: Namespace, labelSelector: {matchLabels: {e2e: "@id"}}}
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: about, namespace: "{{ .metadata.name }}"}
    data: {name: "{{ .metadata.name }}"}
`)
	s.controllerNamed("@id-cm", `
watch: {apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {e2e: "@id"}}}
children:
- name: copy
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-copy"}
    data: {{ .parent.data | toJson }}
`)
	s.patch(env.client.Resource(namespaces), "@ns", `{"metadata":{"labels":{"e2e":"`+s.id+`"}}}`)
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {e2e: "@id"}}, data: {a: b}}`)
	waitFor(t, s.in(configMaps), "about", nil)
	waitFor(t, s.in(configMaps), "one-copy", nil)
	op.quiet(time.Second)
	before := mark(t)
	s.patch(s.in(configMaps), "one", `{"data":{"a":"c"}}`)
	waitFor(t, s.in(configMaps), "one-copy", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"a": "c"}, o.Object["data"])
	})
	op.expectRequests("a change of a ConfigMap that is a parent", before, map[string]int{"patch configmaps 200": 1})

	// An Event reports the problem.
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: two-copy}, data: {a: mine}}`)
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: two, labels: {e2e: "@id"}}, data: {a: b}}`)
	eventually(t, soon, func() error {
		events := s.kubectl("get", "events", "--field-selector=involvedObject.name=two,reason=ChildConflict", "-o=jsonpath={.items[*].message}")
		if !strings.Contains(events, "ConfigMap "+s.ns+"/two-copy already exists and has no owner") {
			return fmt.Errorf("Events: %q", events)
		}
		return nil
	})
	// A status template for them is rejected.
	s.applyController("@id-bad", `
watch: {apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {e2e: "@id"}}}
status: {template: "a: b"}
`)
	s.waitController("@id-bad", func(o *unstructured.Unstructured) error { return condition(o, "Accepted", "False", "BuiltInKind") })
}

func TestMissingPermissionsAffectOnlyOneController(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	s.define("Gadget", "Namespaced")
	startOperator(t)
	s.controllerNamed("@id-good", watchThings+"\nchildren:"+configMapsOf("drop", ""))
	// The operator has no permissions on Leases.
	s.applyController("@id-bad", watchThings+`
children:
- name: lease
  template: |
    apiVersion: coordination.k8s.io/v1
    kind: Lease
    metadata: {name: "{{ .metadata.name }}"}
    spec: {holderIdentity: somebody}
status: {readyCondition: BadReady}
`)
	s.thing("one", `{drop: {a: "1"}}`)
	waitFor(t, s.in(configMaps), "one-drop-a", nil)
	bad := s.waitController("@id-bad", func(o *unstructured.Unstructured) error { return condition(o, "Watching", "False", "Forbidden") })
	t.Logf("Watching: %s", message(bad, "Watching"))
	for _, word := range []string{"list", "watch", "leases.coordination.k8s.io"} {
		if !strings.Contains(message(bad, "Watching"), word) {
			t.Errorf("the Watching condition does not name %q: %s", word, message(bad, "Watching"))
		}
	}
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "BadReady", "False", "") })

	// Others continue, also with new parents.
	began := time.Now()
	s.thing("two", `{drop: {a: "1"}}`)
	waitFor(t, s.in(configMaps), "two-drop-a", nil)
	t.Logf("another controller made a child in %s", time.Since(began).Round(time.Millisecond))

	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	grant := func(verbs string) {
		s.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "e2e-@id-more"}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ` + verbs + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "e2e-@id-more"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "e2e-@id-more"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}]
`)
	}
	began = time.Now()
	grant(`[get, list, watch]`)
	s.waitController("@id-bad", ready)
	t.Logf("list and watch granted: healed in %s", time.Since(began).Round(10*time.Millisecond))
	one := waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "BadReady", "False", "ChildForbidden") })
	t.Logf("BadReady: %s", message(one, "BadReady"))
	for _, word := range []string{"patch", "leases.coordination.k8s.io"} {
		if !strings.Contains(message(one, "BadReady"), word) {
			t.Errorf("the condition of the parent does not name %q: %s", word, message(one, "BadReady"))
		}
	}
	began = time.Now()
	grant(`[get, list, watch, create, patch]`)
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Group: leases.Group, Resource: leases.Resource, Verb: "create"})
	waitFor(t, s.in(leases), "one", nil)
	t.Logf("create and patch granted: healed in %s", time.Since(began).Round(10*time.Millisecond))
}
