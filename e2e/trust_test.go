package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Attempts by a user with few permissions to gain more by way of templater.

// attacker returns a client for a user with only these permissions on ConfigMaps of one namespace.
func (s *scope) attacker(namespace string, verbs ...string) dynamic.ResourceInterface {
	s.t.Helper()
	user := "mallory-" + s.id
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: "%[1]s"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: "%[1]s", name: mallory}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [%[2]s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: "%[1]s", name: mallory}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mallory}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[3]s}]
`, namespace, strings.Join(verbs, ", "), user))
	for _, verb := range verbs {
		s.waitAllowed(user, authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "configmaps", Verb: verb})
	}
	config, err := clientcmd.BuildConfigFromFlags("", env.kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := client.Resource(secrets).Namespace(namespace).List(s.t.Context(), metav1.ListOptions{}); err == nil {
		s.t.Fatal("the attacker may read Secrets")
	}
	return client.Resource(configMaps).Namespace(namespace)
}

// copied is a copy of a child, with all readable metadata, under another name and with other content.
func copied(child *unstructured.Unstructured, namespace, name, text string) *unstructured.Unstructured {
	o := child.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.Object["data"] = map[string]any{"text": text}
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].BlockOwnerDeletion = nil // requires a permission on the owner, if an admission plugin enforces that
	}
	o.SetOwnerReferences(owners)
	return o
}

// TestCopiedChildrenAreIgnored has a cluster-scoped parent, whose children may be in any namespace: a user who may only
// create ConfigMaps in one namespace plants copies there.
func TestCopiedChildrenAreIgnored(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.define("Team", "Cluster")
	startOperator(t)
	const controller = `
watch: {apiVersion: "@group/v1", kind: Team}
children:
- name: creds
  updateStrategy: {type: Recreate}
  template: |
    {{ range .spec.namespaces }}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: creds, namespace: {{ . }}}
    data: {text: {{ $.spec.text }}}
    {{ end }}
- name: secret
  template: |
    apiVersion: v1
    kind: Secret
    metadata: {name: all, namespace: "@ns"}
    stringData: {all: "{{ range .observed.creds }}{{ .data.text }};{{ end }}"}
status:
  template: |
    creds: {{ len .children.creds }}
`
	s.controller(controller)
	theirs := s.id + "-theirs"
	mallory := s.attacker(theirs, "create")
	team := func(text, namespaces string) {
		s.apply(`{apiVersion: "@group/v1", kind: Team, metadata: {name: "@id"}, spec: {text: ` + text + `, namespaces: [` + namespaces + `]}}`)
	}
	teams := env.client.Resource(schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: "teams"})
	s.own(schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: "teams"}, s.id)
	holds := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			return same("data", map[string]any{"all": base64.StdEncoding.EncodeToString([]byte(want))}, o.Object["data"])
		}
	}
	team("one", `"@ns"`)
	waitFor(t, teams, s.id, ready)
	child := waitFor(t, s.in(configMaps), "creds", nil)
	waitFor(t, s.in(secrets), "all", holds("one;"))

	// One with a finalizer, which would also block Recreate, and one with the name of a future child.
	blocker := copied(child, theirs, "blocker", "stolen")
	blocker.SetFinalizers([]string{"example.org/never"})
	for _, o := range []*unstructured.Unstructured{blocker, copied(child, theirs, "creds", "planted")} {
		if _, err := mallory.Create(t.Context(), o, metav1.CreateOptions{FieldManager: "templater/" + s.id}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		s.patchQuietly(env.client.Resource(configMaps).Namespace(theirs), "blocker", `{"metadata":{"finalizers":null}}`)
	})
	team("two", `"@ns"`)
	waitFor(t, teams, s.id, ready)
	waitFor(t, s.in(secrets), "all", holds("two;"))
	waitFor(t, teams, s.id, func(o *unstructured.Unstructured) error {
		creds, _, _ := unstructured.NestedInt64(o.Object, "status", "creds")
		return same("children", int64(1), creds)
	})

	team("two", `"@ns", "`+theirs+`"`)
	waitFor(t, teams, s.id, func(o *unstructured.Unstructured) error {
		return errors.Join(condition(o, "Ready", "False", "ChildConflict"), messageHas(o, "Ready", "is labeled as a child of this object, but its seal is invalid"))
	})
	waitFor(t, s.in(secrets), "all", holds("two;"))
	for _, name := range []string{"blocker", "creds"} {
		o := waitFor(t, env.client.Resource(configMaps).Namespace(theirs), name, nil)
		if text, _, _ := unstructured.NestedString(o.Object, "data", "text"); text == "two" || o.GetDeletionTimestamp() != nil {
			t.Errorf("%s was taken: %v", name, o.Object)
		}
	}
}

// TestDriftByOwnFieldManagerIsRepaired applies as the controller's field manager, with all labels and annotations of
// the child.
func TestDriftByOwnFieldManagerIsRepaired(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(twoChildren("Apply"))
	s.thing("one", `{color: red}`)
	waitFor(t, s.things(), "one", ready)
	mallory := s.attacker(s.ns, "get", "update", "patch")
	manager := "templater/" + s.id
	repaired := func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "red", "size": "1"}, o.Object["data"])
	}
	applied := func(o *unstructured.Unstructured) (at string) {
		for _, entry := range o.GetManagedFields() {
			if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
				at = entry.Time.String()
			}
		}
		return at
	}
	hide := func(seal string) (sameSecond bool) {
		t.Helper()
		child := waitFor(t, s.in(configMaps), "one", repaired)
		o := child.DeepCopy()
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.Object["data"] = map[string]any{"color": "blue", "size": "1"}
		if annotations := o.GetAnnotations(); seal != "" {
			annotations["templater.dev/seal"] = seal
			o.SetAnnotations(annotations)
		}
		hidden, err := mallory.Apply(t.Context(), "one", o, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		return applied(child) == applied(hidden)
	}
	first := waitFor(t, s.in(configMaps), "one", repaired).GetAnnotations()["templater.dev/seal"]
	eventually(t, soon, func() error { // with the seal and the time of templater's own apply
		if !hide("") {
			return errors.New("the edit was of a later second")
		}
		return nil
	})
	waitFor(t, s.in(configMaps), "one", repaired)
	hide(first)
	waitFor(t, s.in(configMaps), "one", repaired)
	op.quiet(time.Second)

	// While templater is stopped, and with each seal.
	op.Stop()
	present := waitFor(t, s.in(configMaps), "one", repaired).GetAnnotations()["templater.dev/seal"]
	hide(first)
	op = startOperator(t)
	waitFor(t, s.in(configMaps), "one", repaired)
	hide(present)
	waitFor(t, s.in(configMaps), "one", repaired)
	op.quiet(time.Second)

	// In two steps, so that managedFields look as before.
	child := waitFor(t, s.in(configMaps), "one", repaired)
	o := child.DeepCopy()
	o.Object["data"] = map[string]any{"color": "green", "size": "1"}
	o, err := mallory.Update(t.Context(), o, metav1.UpdateOptions{})
	if err == nil {
		o.SetManagedFields(child.GetManagedFields())
		_, err = mallory.Update(t.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil && !strings.Contains(err.Error(), "has been modified") { // repaired in between
		t.Fatal(err)
	}
	waitFor(t, s.in(configMaps), "one", repaired)
	op.quiet(time.Second)

	// Between two reconciliations, while the label names another TemplateController: then the fields of another manager
	// are compared.
	s.patchController(`{"spec":{"suspend":true}}`)
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Suspended") })
	child = waitFor(t, s.in(configMaps), "one", repaired)
	child.SetManagedFields(nil)
	child.SetResourceVersion("")
	child.Object["data"] = map[string]any{"color": "blue", "size": "1"}
	labeled := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	labeled.SetName("one")
	labeled.SetLabels(child.GetLabels())
	unlabeled := child.DeepCopy()
	unlabeled.SetLabels(nil)
	for _, step := range []struct {
		manager, controller string
		o                   *unstructured.Unstructured
	}{{manager, "x", child}, {"other", "x", labeled}, {manager, "", unlabeled}, {"other", s.id, labeled}} {
		o := step.o.DeepCopy()
		if step.controller != "" {
			_ = unstructured.SetNestedField(o.Object, step.controller, "metadata", "labels", "templater.dev/controller")
		}
		if _, err := mallory.Apply(t.Context(), "one", o, metav1.ApplyOptions{FieldManager: step.manager, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	s.patchController(`{"spec":{"suspend":false}}`)
	waitFor(t, s.in(configMaps), "one", repaired)
	op.quiet(time.Second)
}

// TestSealKeyRotationAndLoss has an operator with its own seal keys. It is not in the group of the others, so that its
// only permission on Secrets is that on these keys by name.
func TestSealKeyRotationAndLoss(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	keys := s.id + "-keys"
	user := "sealer-" + s.id
	s.apply(strings.NewReplacer("@keys", keys, "@user", user).Replace(`
apiVersion: v1
kind: Namespace
metadata: {name: "@keys"}
---
` + strings.NewReplacer("namespace: templater-e2e", "namespace: \"@keys\"", "kind: Group, name: templater-e2e", "kind: User, name: \"@user\"").Replace(sealRights) + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-sealer"}
rules:
- {apiGroups: ["@group"], resources: ["*"], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-sealer"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-sealer"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@user"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-operator"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: templater-e2e}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@user"}]
`))
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: s.group, Resource: "things", Verb: "list"})
	start := func() *operator { return startOperatorAs(t, user, "--seal-namespace", keys) }
	op := start()
	s.controller(watchThings + "\nchildren:" + configMapsOf("data", ""))
	s.thing("one", `{data: {a: "1", b: "1"}}`)
	sealed := func(key string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			if got := o.GetAnnotations()["templater.dev/seal"]; !strings.HasPrefix(got, key+":") {
				return fmt.Errorf("the seal is %q, want one by key %s", got, key)
			}
			return nil
		}
	}
	secret := func() *unstructured.Unstructured {
		return waitFor(t, env.client.Resource(secrets).Namespace(keys), "templater-seal", nil)
	}
	both := func(key string) (uids []types.UID) {
		t.Helper()
		for _, name := range []string{"one-data-a", "one-data-b"} {
			uids = append(uids, waitFor(t, s.in(configMaps), name, sealed(key)).GetUID())
		}
		return uids
	}
	waitFor(t, s.things(), "one", ready)
	data, _, _ := unstructured.NestedMap(secret().Object, "data")
	first := ""
	for id := range data {
		first = id
	}
	before := both(first)

	// A second key, as on the page; then the first one is deleted.
	s.patch(env.client.Resource(secrets).Namespace(keys), "templater-seal", `{"data":{"99999999999":"`+base64.StdEncoding.EncodeToString(make([]byte, 32))+`"}}`)
	both("99999999999")
	s.patch(env.client.Resource(secrets).Namespace(keys), "templater-seal", `{"data":{"`+first+`":null}}`)
	op.quiet(time.Second)
	op.Stop()

	// All keys are lost while templater is stopped. It creates new ones, and seals older children again.
	if err := env.client.Resource(secrets).Namespace(keys).Delete(t.Context(), "templater-seal", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, func() error { // creation timestamps have a resolution of seconds
		if time.Since(waitFor(t, s.in(configMaps), "one-data-b", nil).GetCreationTimestamp().Time) < 2*time.Second {
			return errors.New("the children are too young")
		}
		return nil
	})
	op = start()
	waitFor(t, env.client.Resource(controllers), s.id, func(o *unstructured.Unstructured) error {
		if since, _, _ := unstructured.NestedString(o.Object, "status", "sealedSince"); since == "" {
			return errors.New("not all are sealed yet")
		}
		return nil
	})
	data, _, _ = unstructured.NestedMap(secret().Object, "data")
	for id := range data {
		if after := both(id); after[0] != before[0] || after[1] != before[1] {
			t.Errorf("the children are %v, want %v", after, before)
		}
	}
	waitFor(t, s.things(), "one", ready)
	op.quiet(time.Second)
	op.Stop()

	// A seal that is removed while templater is stopped.
	s.patch(s.in(configMaps), "one-data-a", `{"metadata":{"annotations":{"templater.dev/seal":null}}}`)
	start()
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		return errors.Join(condition(o, "Ready", "False", "ChildConflict"), messageHas(o, "Ready", "has no seal"))
	})
	// The administrator vouches for all existing children.
	s.patch(env.client.Resource(secrets).Namespace(keys), "templater-seal", `{"stringData":{"since":"`+time.Now().UTC().Add(time.Second).Format(time.RFC3339)+`"}}`)
	waitFor(t, s.things(), "one", ready)
	if after := waitFor(t, s.in(configMaps), "one-data-a", nil).GetUID(); after != before[0] {
		t.Error("the object was replaced")
	}
}

// messageHas returns an error unless the message of a condition contains text.
func messageHas(o *unstructured.Unstructured, conditionType, text string) error {
	for _, c := range conditionsOf(o) {
		if c.Type == conditionType && strings.Contains(c.Message, text) {
			return nil
		}
	}
	return fmt.Errorf("no condition %s of %s contains %q", conditionType, o.GetName(), text)
}

// patchQuietly is patch for the end of a test, when the object may be deleted.
func (s *scope) patchQuietly(in dynamic.ResourceInterface, name, patch string) {
	_, err := in.Patch(context.WithoutCancel(s.t.Context()), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		s.t.Log(err)
	}
}

// TestForgedStatusOfForeignControllerIsReplaced writes the status of parents in the name of TemplateControllers that
// this test's operator does not run: one watches another kind, and the other has a class without an operator.
func TestForgedStatusOfForeignControllerIsReplaced(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	for name, kind := range map[string]string{"elsewhere": "Other", "unserved": "Thing"} {
		s.apply(strings.NewReplacer("@name", name, "@kind", kind).Replace(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: "@id-@name"}
spec:
  className: "@id-x"
  watch: {apiVersion: "@group/v1", kind: @kind}
  status: {template: "color: red"}
---
{apiVersion: "@group/v1", kind: Thing, metadata: {name: "@name"}}
`))
		forged := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(s.expand(`{"apiVersion": "@group/v1", "kind": "Thing", "metadata": {"name": "`+name+`"}, "status": {"color": "forged",
			"conditions": [{"type": "Ready", "status": "True", "reason": "Forged", "message": "forged", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`)), &forged.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := s.things().ApplyStatus(t.Context(), name, forged, metav1.ApplyOptions{FieldManager: s.expand("templater/@id-" + name), Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	startOperator(t)
	s.controller("watch: {apiVersion: \"@group/v1\", kind: Thing, namespaces: [\"@ns\"]}\nstatus: {template: \"color: red\"}\n")
	for _, name := range []string{"elsewhere", "unserved"} {
		waitFor(t, s.things(), name, func(o *unstructured.Unstructured) error {
			color, _, _ := unstructured.NestedString(o.Object, "status", "color")
			return errors.Join(same("status.color", "red", color), condition(o, "Ready", "True", "Ready"))
		})
	}
}

// keptElsewhere creates four ConfigMaps in another namespace that outlive their parent, and one that is deleted with
// it.
const keptElsewhere = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: kept
  scope: Cluster
  deletionPolicy: Orphan
  template: |
    {{ range list "unmarked" "unsealed" "broken" "earlier" }}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: {{ . }}, namespace: "@id-far"}
    {{ end }}
- name: other
  scope: Cluster
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: last, namespace: "@id-far"}
`

// orphanAttacks are patches that remove metadata from the children of keptElsewhere, by name. earlier is a seal of the
// last one from when it was to be deleted.
func orphanAttacks(earlier string) map[string]string {
	return map[string]string{
		"unmarked": `{"metadata": {"annotations": {"templater.dev/deletion": null, "templater.dev/prune": null}}}`,
		"unsealed": `{"metadata": {"annotations": {"templater.dev/deletion": null, "templater.dev/seal": null}, "labels": {"templater.dev/child": "other"}}}`,
		"broken":   `{"metadata": {"annotations": {"templater.dev/deletion": null, "templater.dev/seal": "x"}, "labels": {"templater.dev/child": "other"}}}`,
		"earlier":  `{"metadata": {"annotations": {"templater.dev/deletion": null, "templater.dev/seal": "` + earlier + `"}}}`,
	}
}

// TestTamperedMetadataDeletesNoOrphan has a user who may patch children remove or change the metadata for their
// deletion, before an operator starts that finds their parents missing, and while it is running. The deletion of the
// last child shows that templater has decided about all of them.
func TestTamperedMetadataDeletesNoOrphan(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	far := s.id + "-far"
	mallory := s.attacker(far, "get", "patch")
	op := startOperator(t)
	children := env.client.Resource(configMaps).Namespace(far)
	s.controller(strings.ReplaceAll(keptElsewhere, "deletionPolicy: Orphan", "deletionPolicy: Delete"))
	s.thing("one", `{color: red}`)
	earlier := waitFor(t, children, "earlier", nil).GetAnnotations()["templater.dev/seal"]
	s.controller(keptElsewhere)
	attacks := orphanAttacks(earlier)
	before := map[string]types.UID{}
	for name := range attacks {
		before[name] = waitFor(t, children, name, func(o *unstructured.Unstructured) error {
			return same("annotation", "Orphan", o.GetAnnotations()["templater.dev/deletion"])
		}).GetUID()
	}
	attack := func() {
		for name, patch := range attacks {
			if _, err := mallory.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	op.Stop()
	attack()
	s.patch(s.things(), "one", `{"metadata": {"finalizers": null}}`)
	s.delete(s.things(), "one")
	waitGone(t, s.things(), "one")
	op = startOperator(t)
	attack()
	waitGone(t, children, "last")
	op.quiet(time.Second)
	for name, uid := range before {
		if o := waitFor(t, children, name, nil); o.GetUID() != uid || o.GetDeletionTimestamp() != nil {
			t.Errorf("%s was deleted", name)
		}
	}
}
