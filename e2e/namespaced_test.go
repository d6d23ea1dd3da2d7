package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// namespacedText returns a NamespacedTemplateController with a service account of its namespace.
func namespacedText(name, spec string) string {
	return "apiVersion: templater.dev/v1\nkind: NamespacedTemplateController\nmetadata: {name: \"" + name + "\"}\nspec:\n  serviceAccountRef: {name: robot}\n" + indent(spec)
}

// robot creates the service account robot with permissions for Things and ConfigMaps in the scope's namespace, and returns its user name.
func (s *scope) robot() string {
	s.t.Helper()
	user := s.account("robot", thingRules+configMapRules)
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Namespace: s.ns, Resource: "configmaps", Verb: "list"}) // otherwise, templater retries after 30 s
	return user
}

// namespaced applies a NamespacedTemplateController in the scope's namespace, and waits until it is ready.
func (s *scope) namespaced(name, spec string) {
	s.t.Helper()
	s.apply(namespacedText(name, spec))
	waitFor(s.t, s.in(namespacedControllers), s.expand(name), ready)
}

func TestNamespacedControllerStaysInItsNamespace(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	user := s.robot()
	op := startOperator(t)
	before := mark(t)
	far := s.beside("far")
	far.thing("one", `{own: {a: "1"}}`)

	s.namespaced("@id", watchThings+"\nchildren:"+configMapsOf("own", "")+"\nstatus: {template: \"own: {{ len .children.own }}\"}")
	s.thing("one", `{own: {a: "1", b: "2"}, keep: {c: "3"}}`)
	waitFor(t, s.things(), "one", ready)
	child := waitFor(t, s.in(configMaps), "one-own-a", nil)
	if labels := child.GetLabels(); labels["templater.dev/namespaced-controller"] != s.id || labels["templater.dev/controller"] != "" {
		t.Errorf("labels %v", labels)
	}
	op.quiet(time.Second)
	for _, resource := range []string{"things", "configmaps"} {
		got := op.told(before, resource)
		if len(got) != 1 || got["as "+user+" in "+s.ns] == 0 {
			t.Errorf("requests on %s were made by %v, want by %s in %s alone", resource, got, user, s.ns)
		}
	}
	before = mark(t)
	s.patch(s.things(), "one", `{"spec":{"own":{"a":"4"}}}`)
	waitFor(t, s.in(configMaps), "one-own-a", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"value": "4"}, o.Object["data"])
	})
	op.quiet(time.Second)
	if got := op.told(before, "configmaps"); got["as "+user+" in "+s.ns] != 1 {
		t.Errorf("one changed value causes the requests %v", got)
	}

	t.Log("a TemplateController with the same name works beside it, and neither touches the children of the other")
	s.controller(watchThings + "\nchildren:" + configMapsOf("keep", "") + "\nstatus: {readyCondition: OwnReady}")
	waitFor(t, s.in(configMaps), "one-keep-c", nil)
	s.delete(s.in(namespacedControllers), "@id")
	waitGone(t, s.in(namespacedControllers), s.id)
	s.patch(s.things(), "one", `{"spec":{"keep":{"d":"4"}}}`)
	waitFor(t, s.in(configMaps), "one-keep-d", nil)
	waitFor(t, s.in(configMaps), "one-own-a", nil) // whenDeleted is OrphanChildren

	t.Log("another one with the name takes the children back, and deletes them with it")
	s.namespaced("@id", "whenDeleted: DeleteChildren\n"+watchThings+"\nchildren:"+configMapsOf("own", ""))
	s.patch(s.things(), "one", `{"spec":{"own":{"b":null}}}`)
	waitGone(t, s.in(configMaps), "one-own-b")
	s.delete(s.in(namespacedControllers), "@id")
	waitGone(t, s.in(namespacedControllers), s.id)
	if left := names(s.list(s.in(configMaps), "templater.dev/parent-uid")); fmt.Sprint(left) != "[one-keep-c one-keep-d]" {
		t.Errorf("these children are left: %v", left)
	}
	if left := far.list(far.in(configMaps), "templater.dev/parent-uid"); len(left) > 0 && left[0].GetName() != "one-keep-c" {
		t.Errorf("a child in another namespace: %s", left[0].GetName())
	}
}

func TestNamespacedControllerCannotReachOutside(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	s.robot()
	startOperator(t)
	far := s.beside("far")
	far.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: secret, labels: {a: b}}, data: {key: far}}`)

	const valid = watchThings + "\nchildren:\n- {name: a, template: \"{{ fail `never` }}\"}\n"
	for what, spec := range map[string]string{
		"spec.crd: Forbidden: must not be set in a NamespacedTemplateController":                                          valid + "crd: {schema: {spec: {a: string}}}",
		"spec.watch: Forbidden: namespaces and namespaceSelector must not be set: a NamespacedTemplateController watches": strings.Replace(valid, "kind: Thing", "kind: Thing, namespaces: [default]", 1),
		"spec.watch: Forbidden":   strings.Replace(valid, "kind: Thing", "kind: Thing, namespaceSelector: {}", 1),
		"spec.related: Forbidden": valid + "related: [{name: a, apiVersion: v1, kind: ConfigMap, namespaces: [default]}]",
		"spec.children: Forbidden: scope must be Namespaced or unset": strings.Replace(valid, "name: a,", "name: a, scope: Cluster,", 1),
		"spec.finalize: Forbidden":                                    valid + "finalize: {children: [{name: b, scope: Cluster, template: \"{{ fail `never` }}\"}]}",
		"spec.serviceAccountRef.namespace: Forbidden":                 strings.Replace(valid, "", "", 1) + "serviceAccountRef: {name: robot, namespace: kube-system}",
	} {
		text := namespacedText("@id", spec)
		if strings.Contains(spec, "serviceAccountRef") {
			text = strings.Replace(text, "  serviceAccountRef: {name: robot}\n", "", 1)
		}
		if err := s.tryApply(text); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.tryApply(strings.Replace(namespacedText("@id", valid), "  serviceAccountRef: {name: robot}\n", "", 1)); err == nil || !strings.Contains(err.Error(), "serviceAccountRef.name is required") {
		t.Error(err)
	}

	s.namespaced("@id", watchThings+`
related: [{name: maps, apiVersion: v1, kind: ConfigMap, select: "{allNamespaces: true, labelSelector: {matchLabels: {a: b}}}"}]
children:
- name: reads
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-reads"}
    data: {found: "{{ len .related.maps }}"}
- name: elsewhere
  template: |
    {{- with .spec.place }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}-elsewhere", namespace: "{{ . }}"}
    {{- end }}
- name: role
  template: |
    {{- if .spec.role }}
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: "{{ .metadata.name }}"}
    {{- end }}
`)
	s.thing("one", "{}")
	waitFor(t, s.in(configMaps), "one-reads", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"found": "0"}, o.Object["data"])
	})
	s.thing("two", `{place: "`+far.ns+`"}`)
	waitFor(t, s.things(), "two", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "") })
	s.thing("three", "{role: true}")
	waitFor(t, s.things(), "three", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "") })
	if left := names(far.list(far.in(configMaps), "templater.dev/parent-uid")); len(left) > 0 {
		t.Errorf("children in another namespace: %v", left)
	}
}

// TestPolicyGuardsNamespacedControllers has users of a namespace who may write NamespacedTemplateControllers in it.
func TestPolicyGuardsNamespacedControllers(t *testing.T) {
	parallel(t)
	if env.cluster == nil {
		leaveOut(t, "users are made with the authority of the cluster")
	}
	s := newScope(t)
	for _, user := range []string{"alice", "bob"} {
		s.grant("edits-"+user, s.expand("@id-"+user), `- {apiGroups: [templater.dev], resources: [namespacedtemplatecontrollers], verbs: [get, list, create, update, patch, delete]}`)
		s.waitAllowed(s.expand("@id-"+user), authorizationv1.ResourceAttributes{Namespace: s.ns, Group: "templater.dev", Resource: "namespacedtemplatecontrollers", Verb: "create"})
	}
	s.mayImpersonate("@id-alice", "robot")
	s.policyFor()
	text := namespacedText("@id", "className: nobody\nwatch: {apiVersion: v1, kind: Pod}\nchildren: [{name: a, template: \"{{ fail `never` }}\"}]")
	o := s.object(text)
	creating := func(ctx context.Context, in dynamic.ResourceInterface) error {
		next := o.DeepCopy()
		next.SetName(s.id + "-new")
		_, err := in.Create(ctx, next, metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	alice, bob := s.namespacedAs("@id-alice"), s.namespacedAs("@id-bob")
	eventually(t, soon, func() error {
		if creating(t.Context(), bob) == nil {
			return errors.New("the policy is not in force yet")
		}
		return nil
	})
	s.apply(text)
	for _, row := range []struct {
		what    string
		who     dynamic.ResourceInterface
		try     request
		refused string
	}{
		{"alice creates one", alice, creating, ""},
		{"alice suspends it", alice, patching(s.id, `{"spec":{"suspend":true}}`), ""},
		{"alice names another account", alice, patching(s.id, `{"spec":{"serviceAccountRef":{"name":"other"}}}`), s.expand("user @id-alice is not allowed to impersonate the service account in spec.serviceAccountRef: ask an administrator for the verb impersonate on serviceaccounts/other in namespace @ns")},
		{"bob creates one", bob, creating, s.expand("user @id-bob is not allowed to impersonate the service account in spec.serviceAccountRef: ask an administrator for the verb impersonate on serviceaccounts/robot in namespace @ns")},
		{"bob suspends it", bob, patching(s.id, `{"spec":{"suspend":true}}`), s.expand("serviceaccounts/robot in namespace @ns")},
		{"bob deletes it", bob, deleting(s.id), s.expand("serviceaccounts/robot in namespace @ns")},
		{"alice deletes it", alice, deleting(s.id), ""},
	} {
		switch err := row.try(t.Context(), row.who); {
		case row.refused == "" && err != nil:
			t.Errorf("%s: %v", row.what, err)
		case row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)):
			t.Errorf("%s: %v, want %s", row.what, err, row.refused)
		}
	}
}

// TestManyNamespacedControllersDelayNoNeighbor has a tenant with far more NamespacedTemplateControllers than it may run.
func TestManyNamespacedControllersDelayNoNeighbor(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	s.robot()
	op := startOperator(t)
	far := s.beside("far")
	far.robot()
	s.namespaced("@id", watchThings+"\nchildren:"+configMapsOf("own", ""))
	s.thing("first", `{own: {a: "1"}}`)
	waitFor(t, s.things(), "first", ready)

	const many = 400
	o := s.object(namespacedText("@id", watchThings+"\nchildren:"+configMapsOf("own", "")+"\nstatus: {readyCondition: \"\"}"))
	if err := createMany(t.Context(), far.in(namespacedControllers), many, func(i int) *unstructured.Unstructured {
		next := o.DeepCopy()
		next.SetNamespace(far.ns)
		next.SetName(fmt.Sprintf("%s-%d", s.id, i))
		return next
	}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	s.thing("second", `{own: {a: "1"}}`)
	waitFor(t, s.things(), "second", ready)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("with %d NamespacedTemplateControllers in another namespace, a parent is ready after %v", many, took)
	}
	const limit = 100
	running := func() (running, beyond int) {
		for _, o := range far.list(far.in(namespacedControllers), "") {
			switch {
			case condition(&o, "Ready", "True", "") == nil:
				running++
			case condition(&o, "Ready", "False", "TooManyTemplateControllers") == nil:
				beyond++
			}
		}
		return running, beyond
	}
	eventually(t, soon, func() error {
		if running, beyond := running(); running != limit || beyond != many-limit {
			return fmt.Errorf("%d of %d run, and %d report that there are too many", running, many, beyond)
		}
		return nil
	})
	for _, o := range far.list(far.in(namespacedControllers), "") {
		if condition(&o, "Ready", "True", "") == nil {
			far.delete(far.in(namespacedControllers), o.GetName())
			break
		}
	}
	eventually(t, soon, func() error {
		if running, beyond := running(); running != limit || beyond != many-limit-1 {
			return fmt.Errorf("one is deleted: %d run, and %d report that there are too many", running, beyond)
		}
		return nil
	})
	op.quiet(time.Second)
}

// TestNamespaceWithNamespacedControllersCanBeDeleted deletes a namespace, with the service account and its permissions.
func TestNamespaceWithNamespacedControllersCanBeDeleted(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	far := s.beside("far")
	far.robot()
	far.namespaced("@id", "whenDeleted: DeleteChildren\n"+watchThings+"\nchildren:"+configMapsOf("own", ""))
	far.thing("one", `{own: {a: "1", b: "2"}}`)
	waitFor(t, far.things(), "one", ready)
	far.delete(env.client.Resource(namespaces), far.ns)
	waitGone(t, env.client.Resource(namespaces), far.ns)
}

// object parses a manifest.
func (s *scope) object(manifest string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(s.expand(manifest)))
	if err == nil {
		err = o.UnmarshalJSON(text) // preserves integers
	}
	if err == nil {
		err = s.classify(o, namespacedControllers)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// namespacedAs returns a client for the NamespacedTemplateControllers of the test's namespace as a user.
func (s *scope) namespacedAs(user string) dynamic.ResourceInterface {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", env.userKubeconfig(s.t, s.expand(user)))
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client.Resource(namespacedControllers).Namespace(s.ns)
}
