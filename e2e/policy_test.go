package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

var clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}

// policyUsers may all write TemplateControllers. The names after @id- identify them; each may impersonate the service
// accounts that are listed here.
const policyUsers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-editor"}
rules:
- {apiGroups: [templater.dev], resources: [templatecontrollers], verbs: [get, list, create, update, patch, delete, deletecollection]}
- {apiGroups: [templater.dev], resources: [templatecontrollers/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-editor"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-editor"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-alice"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-bob"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-carol"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-mallory"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-janitor"}
- {kind: ServiceAccount, namespace: "@ns", name: templater}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-janitor"}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-janitor"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-janitor"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@id-janitor"}]
`

// mayImpersonate allows a user to impersonate a service account of the test's namespace.
func (s *scope) mayImpersonate(user, account string) {
	s.t.Helper()
	user = s.expand(user)
	s.grant(strings.ReplaceAll(user, ":", "-")+"-uses-"+account, user, `- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [`+account+`], verbs: [impersonate]}`)
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Namespace: s.ns, Resource: "serviceaccounts", Name: account, Verb: "impersonate"})
}

// policyFor installs the policy of the default installation, under another name and only for the TemplateControllers of
// this test. The service accounts of the classes @id and @id-b are in the test's namespace, that of the test's operator is
// in @id-home.
func (s *scope) policyFor() {
	s.t.Helper()
	const name, accounts = "  name: templater\n", "{'': 'templater-system/templater'}"
	text := read(s.t, filepath.Join(env.root, "config", "policy", "policy.yaml"))
	for _, part := range []string{name, accounts, "  variables:\n"} {
		if strings.Count(text, part) != 1 {
			s.t.Fatalf("the policy does not have %q once", part)
		}
	}
	s.apply(strings.NewReplacer(name, "  name: \"@id\"\n", accounts, "{'@id': '@ns/templater', '@id-b': '@ns/templater-b', '"+classOf(s.t)+"': '@id-home/templater'}", "  variables:\n", `
  matchConditions:
  - name: of-this-test
    expression: "(request.operation == 'DELETE' ? oldObject : object).metadata.name.startsWith('@id')"
  variables:
`).Replace(text))
	s.apply(strings.NewReplacer(name, "  name: \"@id\"\n", "policyName: templater", `policyName: "@id"`).Replace(read(s.t, filepath.Join(env.root, "config", "policy", "binding.yaml"))))
}

// policed is a TemplateController of a class without an operator.
func (s *scope) policed(name, more string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(s.expand(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: "` + name + `", labels: {policed: "@id"}}
spec:
  watch: {apiVersion: v1, kind: ConfigMap, namespaces: ["@ns"]}
  children: [{name: none, template: "{{ fail \"never\" }}"}]
` + more)))
	if err == nil {
		err = o.UnmarshalJSON(text) // preserves integers
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *scope) applyPoliced(name, more string) {
	s.t.Helper()
	if err := s.applyObject(s.policed(name, more)); err != nil {
		s.t.Fatal(err)
	}
}

// request is an attempt by a user, without effect.
type request func(ctx context.Context, in dynamic.ResourceInterface) error

var dryRun = []string{metav1.DryRunAll}

func patching(name, patch string) request {
	return func(ctx context.Context, in dynamic.ResourceInterface) error {
		_, err := in.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
		return err
	}
}

func deleting(name string) request {
	return func(ctx context.Context, in dynamic.ResourceInterface) error {
		return in.Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
	}
}

func (s *scope) creating(more string) request {
	return func(ctx context.Context, in dynamic.ResourceInterface) error {
		_, err := in.Create(ctx, s.policed("@id-new", more), metav1.CreateOptions{DryRun: dryRun})
		return err
	}
}

// asUser returns a client for TemplateControllers as a user, who impersonates another one if as is not empty.
func (s *scope) asUser(user, as string) dynamic.ResourceInterface {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", env.userKubeconfig(s.t, user))
	if err != nil {
		s.t.Fatal(err)
	}
	if as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: as}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client.Resource(controllers)
}

// TestPolicyDeniesForeignServiceAccounts has users who may write all TemplateControllers try operations that require
// permission to impersonate the service accounts.
func TestPolicyDeniesForeignServiceAccounts(t *testing.T) {
	parallel(t)
	if env.cluster == nil {
		leaveOut(t, "users are made with the authority of the cluster")
	}
	s := newScope(t)
	s.apply(policyUsers)
	for user, accounts := range map[string][]string{
		"@id-alice": {"a"}, "@id-bob": {"b"}, "@id-carol": {"a", "b"}, "@id-mallory": {"templater"},
		"system:serviceaccount:@ns:templater": {"a", "b"}, // as installed: templater impersonates them
	} {
		for _, account := range accounts {
			s.mayImpersonate(user, account)
		}
	}
	const (
		byA    = "  className: \"@id\"\n  serviceAccountRef: {namespace: \"@ns\", name: a}\n"
		byB    = "  className: \"@id\"\n  serviceAccountRef: {namespace: \"@ns\", name: b}\n"
		byHome = "  className: \"@id\"\n"
	)
	// These were created before the policy.
	s.applyPoliced("@id-a", byA)
	s.applyPoliced("@id-home", byHome)
	s.applyPoliced("@id-lost", "  className: \"@id-unknown\"\n")
	s.applyPoliced("@id-ghost", "  serviceAccountRef: {namespace: \"@id-gone\", name: ghost}\n")
	s.policyFor()

	s.waitAllowed(s.expand("@id-janitor"), authorizationv1.ResourceAttributes{Group: "*", Resource: "*", Verb: "delete"})
	templater := s.expand("system:serviceaccount:@ns:templater")
	users := map[string]dynamic.ResourceInterface{
		"mallory as templater": s.asUser(s.expand("@id-mallory"), templater), "the administrator": env.client.Resource(controllers),
	}
	for _, user := range []string{"alice", "bob", "carol", "mallory", "janitor"} {
		users[user] = s.asUser(s.expand("@id-"+user), "")
	}
	eventually(t, soon, func() error {
		if s.creating(byA)(t.Context(), users["bob"]) == nil {
			return errors.New("the policy is not in force yet")
		}
		return nil
	})

	a, home, lost, ghost := s.id+"-a", s.id+"-home", s.id+"-lost", s.id+"-ghost"
	const requires, nothingElse = " this TemplateController: it requires the verb impersonate on ", "is only allowed to update the status and finalizers of TemplateControllers"
	const aOf, bOf, homeOf = "serviceaccounts/a in namespace @ns", "serviceaccounts/b in namespace @ns", "serviceaccounts/templater in namespace @ns"
	repoint := s.expand(`{"spec":{"serviceAccountRef":{"namespace":"@ns","name":"b"}}}`)
	const (
		suspend   = `{"spec":{"suspend":true}}`
		finalizer = `{"metadata":{"finalizers":["templater.dev/children"]}}`
		owner     = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"never","uid":"0a0a0a0a-0000-4000-8000-000000000000"}]}}`
		label     = `{"metadata":{"labels":{"a":"b"},"annotations":{"a":"b"}}}`
	)
	all := func(ctx context.Context, in dynamic.ResourceInterface) error {
		return in.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{LabelSelector: "policed=" + s.id})
	}
	for _, row := range []struct {
		who, what string
		try       request
		refused   string // text of the error; empty = allowed
	}{
		{"alice", "creates one with her account", s.creating(byA), ""},
		{"alice", "creates one with another account", s.creating(byB), "user @id-alice is not allowed to impersonate the service account in spec.serviceAccountRef: ask an administrator for the verb impersonate on " + bOf},
		{"alice", "creates one with templater's account", s.creating(byHome), homeOf},
		{"alice", "creates one of an unknown class", s.creating("  className: nobody\n"), `unknown class "nobody": correct spec.className`},
		{"alice", "changes hers", patching(a, suspend), ""},
		{"alice", "changes hers to another account", patching(a, repoint), "user @id-alice is not allowed to impersonate the service account in spec.serviceAccountRef: ask an administrator for the verb impersonate on " + bOf},
		{"alice", "has another installation serve hers", patching(a, `{"spec":{"className":"`+s.id+`-b"}}`), ""},
		{"alice", "adds a finalizer to hers", patching(a, finalizer), ""},
		{"alice", "deletes hers", deleting(a), ""},
		{"alice", "deletes that of templater's account", deleting(home), "user @id-alice is not allowed to delete" + requires + homeOf},
		{"alice", "deletes that of an unknown class", deleting(lost), "user @id-alice is not allowed to delete" + requires + `all serviceaccounts, because its class "@id-unknown" is unknown`},
		{"alice", "takes that of an unknown class", patching(lost, s.expand(`{"spec":{"serviceAccountRef":{"namespace":"@ns","name":"a"}}}`)), "is not allowed to change the spec of" + requires + "all serviceaccounts"},
		{"alice", "deletes that of a deleted service account", deleting(ghost), requires + "serviceaccounts/ghost in namespace @id-gone"},

		{"bob", "deletes another team's", deleting(a), "user @id-bob is not allowed to delete" + requires + aOf},
		{"bob", "deletes all", all, "is not allowed to delete"},
		{"bob", "has another team's work with his account", patching(a, repoint), "user @id-bob is not allowed to change the spec of" + requires + aOf + " (the service account that it currently uses)"},
		{"bob", "suspends another team's", patching(a, suspend), aOf},
		{"bob", "has the children deleted with another team's", patching(a, `{"spec":{"whenDeleted":"DeleteChildren"}}`), aOf},
		{"bob", "puts a finalizer on another team's", patching(a, finalizer), "user @id-bob is not allowed to change the finalizers or owner references of" + requires + aOf},
		{"bob", "has the garbage collector delete another team's", patching(a, owner), "user @id-bob is not allowed to change the finalizers or owner references of" + requires + aOf},
		{"bob", "labels another team's", patching(a, label), ""},
		{"bob", "applies another team's as it is", patching(a, `{}`), ""},

		{"carol", "allowed to use both service accounts, changes one to the other", patching(a, repoint), ""},

		{"mallory", "allowed to impersonate templater, deletes its TemplateController", deleting(home), ""},
		{"mallory", "moves it to a class whose account he may not use", patching(home, `{"spec":{"className":"`+s.id+`-b"}}`), "serviceaccounts/templater-b in namespace @ns"},
		{"mallory", "uses an account of others", s.creating(byA), aOf},
		{"mallory as templater", "uses an account of others", s.creating(byA), nothingElse},
		{"mallory as templater", "has his work with an account of others", patching(home, repoint), nothingElse},
		{"mallory as templater", "has another team's work with another account", patching(a, repoint), nothingElse},
		{"mallory as templater", "changes another team's templates", patching(a, suspend), nothingElse},
		{"mallory as templater", "deletes another team's", deleting(a), nothingElse},
		{"mallory as templater", "deletes all", all, nothingElse},
		{"mallory as templater", "has the garbage collector delete another team's", patching(a, owner), nothingElse},
		{"mallory as templater", "labels", patching(a, label), nothingElse},
		{"mallory as templater", "writes finalizers, as templater does", patching(a, finalizer), ""},

		{"janitor", "allowed to delete everything, deletes", deleting(a), ""},
		{"janitor", "changes owner references", patching(a, owner), ""},
		{"janitor", "changes the spec", patching(a, suspend), aOf},
		{"the administrator", "repairs that of a deleted service account", patching(ghost, repoint), ""},
		{"the administrator", "repairs that of an unknown class", patching(lost, repoint), ""},
		{"the administrator", "deletes all", all, ""},
	} {
		err := row.try(t.Context(), users[row.who])
		switch want := s.expand(row.refused); {
		case row.refused == "" && err != nil:
			t.Errorf("%s %s: got error %v", row.who, row.what, err)
		case row.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s %s: got error %v, want %q in it", row.who, row.what, err, want)
		}
	}

	after, err := users["bob"].Patch(t.Context(), a, types.MergePatchType, []byte(finalizer), metav1.PatchOptions{DryRun: dryRun}, "status")
	if err != nil || len(after.GetFinalizers()) > 0 {
		t.Errorf("by way of the status bob gets the finalizers %v, error %v", after.GetFinalizers(), err)
	}
	s.garbageCollectorIsNotRefused(byA)
	waitFor(t, env.client.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}), s.id, func(o *unstructured.Unstructured) error {
		warnings, _, _ := unstructured.NestedSlice(o.Object, "status", "typeChecking", "expressionWarnings")
		if len(warnings) > 0 {
			return poll.Stop(fmt.Errorf("the API server warns about the policy: %v", warnings))
		}
		if _, checked, _ := unstructured.NestedMap(o.Object, "status", "typeChecking"); !checked {
			return errors.New("the API server has not checked the types of the policy yet")
		}
		return nil
	})
}

// TestPolicyDetectsEverySpecChange has a user who may not impersonate the service account try patches of all kinds.
// Those that increase the generation change the spec, even if CEL considers the values equal; all others are allowed.
func TestPolicyDetectsEverySpecChange(t *testing.T) {
	parallel(t)
	if env.cluster == nil {
		leaveOut(t, "users are made with the authority of the cluster")
	}
	s := newScope(t)
	s.apply(policyUsers)
	s.applyPoliced("@id-a", `  serviceAccountRef: {namespace: "@ns", name: a}
  values:
    id: 4611686018427387905
    one: 1
    half: 0.5
    list: [1, 2]
    many: [{n: 1}, {n: 2}]
    none: {}
    nobody: []
    text: "1"
    null-like: "null"
`)
	s.policyFor()
	bob, name := s.asUser(s.expand("@id-bob"), ""), s.id+"-a"
	before := waitFor(t, env.client.Resource(controllers), name, nil).GetGeneration()
	eventually(t, soon, func() error {
		if s.creating(`  serviceAccountRef: {namespace: "@ns", name: a}`+"\n")(t.Context(), bob) == nil {
			return errors.New("the policy is not in force yet")
		}
		return nil
	})
	child := func(more string) string {
		return `{"spec":{"children":[{"name":"none","template":"{{ fail \"never\" }}"` + more + `}]}}`
	}
	for _, row := range []struct {
		what, patch string
		changes     bool
	}{
		{"an integer becomes another one", `{"spec":{"values":{"id":4611686018427388000}}}`, true},
		{"an integer becomes its neighbor", `{"spec":{"values":{"id":4611686018427387906}}}`, true},
		{"a great integer becomes a double", `{"spec":{"values":{"id":4611686018427388000.0}}}`, true},
		{"a great integer becomes a double with an exponent", `{"spec":{"values":{"id":4.611686018427388e18}}}`, true},
		{"an integer becomes a double", `{"spec":{"values":{"one":1.0}}}`, true},
		{"an integer becomes a double with an exponent", `{"spec":{"values":{"one":1e0}}}`, true},
		{"an integer in a list becomes a double", `{"spec":{"values":{"list":[1.0,2]}}}`, true},
		{"an integer in a list of mappings becomes a double", `{"spec":{"values":{"many":[{"n":1},{"n":2.0}]}}}`, true},
		{"a text becomes a number", `{"spec":{"values":{"text":1}}}`, true},
		{"a number becomes a text", `{"spec":{"values":{"one":"1"}}}`, true},
		{"a list has another order", `{"spec":{"values":{"list":[2,1]}}}`, true},
		{"a list of mappings has another order", `{"spec":{"values":{"many":[{"n":2},{"n":1}]}}}`, true},
		{"removes an empty mapping", `{"spec":{"values":{"none":null}}}`, true},
		{"an empty mapping becomes an empty list", `{"spec":{"values":{"none":[]}}}`, true},
		{"an empty list becomes an empty mapping", `{"spec":{"values":{"nobody":{}}}}`, true},
		{"an empty list goes", `{"spec":{"values":{"nobody":null}}}`, true},
		{"adds an empty string", `{"spec":{"values":{"new":""}}}`, true},
		{"adds an empty list", `{"spec":{"related":[]}}`, true},
		{"adds false, the default", `{"spec":{"suspend":false}}`, true},
		{"a default is replaced", child(`,"prunePolicy":"Orphan"`), true},

		{"nothing", `{}`, false},
		{"the values that it has", `{"spec":{"values":{"id":4611686018427387905,"one":1,"half":0.5,"list":[1,2],"none":{},"nobody":[]}}}`, false},
		{"the same double in another form", `{"spec":{"values":{"half":5e-1}}}`, false},
		{"removes a missing key", `{"spec":{"values":{"new":null}}}`, false},
		{"defaults are left out", child(""), false},
		{"a default is written out", child(`,"prunePolicy":"Delete","updateStrategy":{}`), false},
		{"an unknown field", `{"spec":{"unheard":1}}`, false},
		{"a label and an annotation", `{"metadata":{"labels":{"a":"b"},"annotations":{"a":"1.0"}}}`, false},
		{"the generation", `{"metadata":{"generation":7}}`, false},
		{"the status, which the main resource ignores", `{"status":{"className":"forged"}}`, false},
	} {
		t.Run(row.what, func(t *testing.T) {
			after, err := env.client.Resource(controllers).Patch(t.Context(), name, types.MergePatchType, []byte(row.patch), metav1.PatchOptions{DryRun: dryRun})
			if err != nil {
				t.Fatalf("as the administrator: %v", err)
			}
			if raised := after.GetGeneration() != before; raised != row.changes {
				t.Errorf("the generation is raised: %v, want %v", raised, row.changes)
			}
			switch err := patching(name, row.patch)(t.Context(), bob); {
			case row.changes && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), s.expand("serviceaccounts/a in namespace @ns"))):
				t.Errorf("got error %v, want a refusal by the policy", err)
			case !row.changes && err != nil:
				t.Errorf("got error %v", err)
			}
		})
	}
}

// garbageCollectorIsNotRefused has the garbage collector delete a TemplateController with its owner, and remove a
// finalizer.
func (s *scope) garbageCollectorIsNotRefused(spec string) {
	s.t.Helper()
	s.apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "@id-owner"}, rules: []}`)
	owner := waitFor(s.t, env.client.Resource(clusterRoles), s.id+"-owner", nil)
	owned := s.policed("@id-owned", spec)
	yes := true
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &yes}})
	if err := s.applyObject(owned); err != nil {
		s.t.Fatal(err)
	}
	foreground := metav1.DeletePropagationForeground
	if err := env.client.Resource(clusterRoles).Delete(s.t.Context(), owner.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		s.t.Fatal(err)
	}
	waitGone(s.t, env.client.Resource(controllers), owned.GetName())
}
