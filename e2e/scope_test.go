package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

// Resources that many tests use.
var (
	configMaps            = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods                  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	services              = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	namespaces            = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments           = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	controllers           = schema.GroupVersionResource{Group: "templater.dev", Version: "v1", Resource: "templatecontrollers"}
	namespacedControllers = schema.GroupVersionResource{Group: "templater.dev", Version: "v1", Resource: "namespacedtemplatecontrollers"}
	policies              = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
	definitions           = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// resources maps names to the resources of children.
var resources = map[string]schema.GroupVersionResource{
	"configmaps": configMaps, "pods": pods, "services": services, "deployments": deployments,
}

// scope holds the objects of one test: a namespace, an API group, and all TemplateControllers, CRDs and cluster-scoped
// objects that it applies, which are deleted after the test.
//
// In manifests, @ns is the namespace, @group the API group, @id a unique name for TemplateControllers and other
// cluster-scoped objects, and @operator the user of the test's operator, which has all permissions on the group.
type scope struct {
	t     *testing.T
	ns    string
	group string
	id    string
	// manager is the field manager of apply.
	manager string
	// dir is the folder for the commands of pages; empty means the top of the repository.
	dir   string
	owned []owned
}

type owned struct {
	resource schema.GroupVersionResource
	name     string
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

func newScope(t *testing.T) *scope {
	t.Helper()
	return newScopeOf(t, "")
}

// newName returns a unique name derived from the test's.
func newName(t *testing.T) string { return nameFor(t.Name()) }

func nameFor(test string) string {
	short := strings.Trim(notName.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-"), "-")
	return strings.Trim(short[:min(len(short), 30)], "-") + "-" + strings.ToLower(rand.Text()[:5])
}

// newScopeOf is newScope with an API group that others may use, too; empty means a new one.
func newScopeOf(t *testing.T, group string) *scope {
	t.Helper()
	id := newName(t)
	s := &scope{t: t, id: id, ns: id, group: group, manager: "e2e"}
	if group == "" {
		s.group = id + ".example.org"
	}
	t.Cleanup(s.remove)
	s.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: "@ns", labels: {team: red}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "e2e-@id"}
rules:
- {apiGroups: ["@group"], resources: ["*"], verbs: [get, list, watch, create, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "e2e-@id"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "e2e-@id"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}]
`)
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Group: s.group, Resource: "things", Verb: "list"})
	return s
}

// collectedGroups have the kind Thing during the whole run. The garbage collector takes up to 30 s to discover a new
// kind, and collects none of its objects before.
var collectedGroups = []string{"collected-1.example.org", "collected-2.example.org", "collected-3.example.org", "collected-4.example.org"}

// freeGroups are the groups that no test is using.
var freeGroups = func() chan string {
	free := make(chan string, len(collectedGroups))
	for _, group := range collectedGroups {
		free <- group
	}
	return free
}()

// newCollectedScope is a scope with a kind Thing that the garbage collector knows, and that no other test uses
// concurrently.
func newCollectedScope(t *testing.T) *scope {
	t.Helper()
	group := <-freeGroups
	t.Cleanup(func() { freeGroups <- group })
	s := newScopeOf(t, group)
	t.Cleanup(func() { // the next test uses the same kind
		ctx := context.WithoutCancel(t.Context())
		if err := s.things().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	})
	return s
}

// waitCollected waits until the garbage collector knows a kind of the scope's group, because only it completes
// foreground deletion. Before, it repeatedly gets each owner of that kind in the version from the child's owner
// reference, and deletes the child if that version is not served at the moment.
func (s *scope) waitCollected(version, kind string) {
	s.t.Helper()
	s.apply(`{apiVersion: "@group/` + version + `", kind: ` + kind + `, metadata: {name: collected}}`)
	objects := s.in(schema.GroupVersionResource{Group: s.group, Version: version, Resource: strings.ToLower(kind) + "s"})
	foreground := metav1.DeletePropagationForeground
	if err := objects.Delete(s.t.Context(), "collected", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		s.t.Fatal(err)
	}
	waitGone(s.t, objects, "collected")
}

// waitCollectorKnows waits until the garbage collector has observed the existing ConfigMaps. On a busy machine it lags
// behind others, and it orphans only the children of a deleted parent that it knows.
func (s *scope) waitCollectorKnows() {
	s.t.Helper()
	probe := s.expand("@id-collected")
	s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + probe + `, namespace: "@ns", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: ` + probe + `}]}}`)
	waitGone(s.t, s.in(configMaps), probe)
}

// waitAllowed waits until the API server has observed a new permission.
func (s *scope) waitAllowed(user string, right authorizationv1.ResourceAttributes) {
	s.t.Helper()
	s.waitReview(user, right, true)
}

// waitForbidden waits until the API server has observed that a permission was revoked.
func (s *scope) waitForbidden(user string, right authorizationv1.ResourceAttributes) {
	s.t.Helper()
	s.waitReview(user, right, false)
}

func (s *scope) waitReview(user string, right authorizationv1.ResourceAttributes, allowed bool) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		review, err := env.clientset.AuthorizationV1().SubjectAccessReviews().Create(s.t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groupsOf(user), ResourceAttributes: &right},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed != allowed {
			err = fmt.Errorf("%s may %s %s: %v, want %v", user, right.Verb, right.Resource, review.Status.Allowed, allowed)
		}
		return err
	})
}

// expand replaces the placeholders in a manifest.
func (s *scope) expand(manifest string) string {
	return strings.NewReplacer("@ns", s.ns, "@group", s.group, "@id", s.id, "@operator", operatorOf(s.t)).Replace(manifest)
}

// apply applies all documents of a manifest (server-side apply). A TemplateController without a class gets that of the
// test's operator.
func (s *scope) apply(manifest string) {
	s.t.Helper()
	if err := s.tryApply(manifest); err != nil {
		s.t.Fatal(err)
	}
}

// tryApply is apply, but returns the error.
func (s *scope) tryApply(manifest string) error {
	s.t.Helper()
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(s.expand(manifest)), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := reader.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			s.t.Fatalf("manifest: %v: %s", err, s.expand(manifest))
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := s.applyObject(o); err != nil {
			return err
		}
	}
}

func (s *scope) applyObject(o *unstructured.Unstructured) error {
	in, mapping, err := s.interfaceFor(o)
	if err != nil {
		return err
	}
	if err := s.classify(o, mapping.Resource); err != nil {
		return err
	}
	after, err := in.Apply(s.t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: s.manager, Force: true})
	if err != nil {
		return err
	}
	if after.GetNamespace() == "" {
		s.own(mapping.Resource, o.GetName())
	}
	if mapping.Resource == definitions {
		s.waitServed(o)
	}
	return nil
}

// classify sets the class of a TemplateController to that of the test's operator, unless it has one.
func (s *scope) classify(o *unstructured.Unstructured, resource schema.GroupVersionResource) error {
	if _, named, _ := unstructured.NestedString(o.Object, "spec", "className"); named || resource != controllers && resource != namespacedControllers {
		return nil
	}
	return unstructured.SetNestedField(o.Object, classOf(s.t), "spec", "className")
}

func (s *scope) interfaceFor(o *unstructured.Unstructured) (dynamic.ResourceInterface, *meta.RESTMapping, error) {
	gvk := o.GroupVersionKind()
	mapping, err := env.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		env.mapper.Reset()
		mapping, err = env.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return env.client.Resource(mapping.Resource), mapping, nil
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(s.ns)
	}
	return env.client.Resource(mapping.Resource).Namespace(o.GetNamespace()), mapping, nil
}

// waitServed waits until objects of a new CRD can be listed, and discovery includes them.
func (s *scope) waitServed(definition *unstructured.Unstructured) {
	s.t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	version, _ := versions[0].(map[string]any)
	name, _ := version["name"].(string)
	eventually(s.t, soon, func() error {
		_, err := env.client.Resource(schema.GroupVersionResource{Group: group, Version: name, Resource: plural}).List(s.t.Context(), metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		env.mapper.Reset()
		_, err = env.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, name)
		return err
	})
}

// in returns a client for a resource in the test's namespace.
func (s *scope) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return env.client.Resource(resource).Namespace(s.ns)
}

// defineThing defines a namespaced kind Thing (things) with free-form spec and status, and conditions.
func (s *scope) defineThing() { s.define("Thing", "Namespaced") }

// define defines a kind of the scope's group; its plural is the lower-case kind plus s.
func (s *scope) define(kind, scope string) {
	s.t.Helper()
	s.apply(definition(kind, scope))
}

// definition is a CRD, with the placeholder @group.
func definition(kind, scope string) string {
	lower := strings.ToLower(kind)
	return strings.NewReplacer("@kind", kind, "@lower", lower, "@scope", scope).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "@lowers.@group"}
spec:
  group: "@group"
  scope: "@scope"
  names: {kind: "@kind", plural: "@lowers", singular: "@lower"}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.tier}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              tier: {type: string}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    observedGeneration: {type: integer}
                    lastTransitionTime: {type: string, format: date-time}
                    reason: {type: string}
                    message: {type: string}
`)
}

// things is a client for the Things in the test's namespace.
func (s *scope) things() dynamic.ResourceInterface { return s.in(s.resource("things")) }

// resource is a resource of the scope's group.
func (s *scope) resource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: s.group, Version: "v1", Resource: plural}
}

// controller applies the TemplateController @id and waits until it is Ready.
func (s *scope) controller(spec string) {
	s.t.Helper()
	s.controllerNamed("@id", spec)
}

// controllerNamed is controller with another name. The spec is YAML without indentation.
func (s *scope) controllerNamed(name, spec string) {
	s.t.Helper()
	s.applyController(name, spec)
	s.waitController(name, func(o *unstructured.Unstructured) error { return condition(o, "Ready", "True", "") })
}

// applyController applies a TemplateController without waiting.
func (s *scope) applyController(name, spec string) {
	s.t.Helper()
	s.apply("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: \"" + name + "\"}\nspec:\n" + indent(spec))
}

// waitController waits until check accepts the TemplateController; it expands placeholders in name.
func (s *scope) waitController(name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	s.t.Helper()
	return waitFor(s.t, env.client.Resource(controllers), s.expand(name), check)
}

func indent(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// patch makes a merge patch of the named object.
func (s *scope) patch(in dynamic.ResourceInterface, name, patch string) *unstructured.Unstructured {
	s.t.Helper()
	o, err := in.Patch(s.t.Context(), s.expand(name), types.MergePatchType, []byte(s.expand(patch)), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		s.t.Fatalf("patch %s: %v", name, err)
	}
	return o
}

// patchController makes a merge patch of a TemplateController.
func (s *scope) patchController(patch string) {
	s.t.Helper()
	s.patch(env.client.Resource(controllers), "@id", patch)
}

// delete deletes the named object with background propagation.
func (s *scope) delete(in dynamic.ResourceInterface, name string) {
	s.t.Helper()
	background := metav1.DeletePropagationBackground
	if err := in.Delete(s.t.Context(), s.expand(name), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		s.t.Fatalf("delete %s: %v", name, err)
	}
}

// list returns the objects that match a label selector.
func (s *scope) list(in dynamic.ResourceInterface, selector string) []unstructured.Unstructured {
	s.t.Helper()
	list, err := in.List(s.t.Context(), metav1.ListOptions{LabelSelector: s.expand(selector)})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// kubectl runs kubectl in the test's namespace, and returns its output.
func (s *scope) kubectl(args ...string) string {
	s.t.Helper()
	out, err := env.command(s.t.Context(), "", append([]string{"--namespace", s.ns}, args...)...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// kubectlDone is kubectl for cleanup.
func (s *scope) kubectlDone(args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), soon)
	defer cancel()
	if err := env.run(ctx, "", append([]string{"--namespace", s.ns}, args...)...); err != nil {
		s.t.Error(err)
	}
}

// own registers an object for deletion after the test.
func (s *scope) own(resource schema.GroupVersionResource, name string) {
	s.owned = append(s.owned, owned{resource, name})
}

// remove deletes the test's objects; the operator has been stopped by then. It does not wait for the contents of the
// namespace, but it waits for CRDs.
func (s *scope) remove() {
	ctx := context.WithoutCancel(s.t.Context())
	for i := len(s.owned) - 1; i >= 0; i-- {
		if err := removeOwned(ctx, s.owned[i]); err != nil {
			s.t.Errorf("clean up: %v", err)
		}
	}
}

func removeOwned(ctx context.Context, o owned) error {
	in := env.client.Resource(o.resource)
	background := metav1.DeletePropagationBackground
	if o.resource == controllers { // there is no operator to remove the finalizer
		_, err := in.Patch(ctx, o.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	err := in.Delete(ctx, o.name, metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || o.resource == namespaces {
		return err
	}
	return poll.For(soon, 50*time.Millisecond, func() error {
		left, err := in.Get(ctx, o.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			err = fmt.Errorf("is still there, deleted at %s, with finalizers %v and status %v", left.GetDeletionTimestamp(), left.GetFinalizers(), left.Object["status"])
		}
		return fmt.Errorf("%s %s: %w", o.resource.Resource, o.name, err)
	})
}
