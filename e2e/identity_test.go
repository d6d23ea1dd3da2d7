package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/cluster/poll"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// account creates a service account with these rules of a Role in the test's namespace, which the operator may
// impersonate, and returns its user name.
func (s *scope) account(name, rules string) string {
	s.t.Helper()
	user := s.impersonates(name)
	s.grant("rights-of-"+name, user, rules)
	return user
}

// impersonates creates a service account without permissions, which the operator may impersonate, and returns its user name.
func (s *scope) impersonates(name string) string {
	s.t.Helper()
	s.apply(strings.ReplaceAll(`
{apiVersion: v1, kind: ServiceAccount, metadata: {name: @name}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: act-as-@name}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [@name], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: act-as-@name}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: act-as-@name}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}]
`, "@name", name))
	s.waitAllowed(operatorOf(s.t), authorizationv1.ResourceAttributes{Namespace: s.ns, Resource: "serviceaccounts", Name: name, Verb: "impersonate"})
	return "system:serviceaccount:" + s.ns + ":" + name
}

// grant grants a user these rules of a Role in the test's namespace.
func (s *scope) grant(role, user, rules string) {
	s.t.Helper()
	s.apply(strings.NewReplacer("@role", role, "@user", user, "@rules", rules).Replace(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: @role}
rules:
@rules
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: @role}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: @role}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@user"}]
`))
}

const (
	thingRules = `- {apiGroups: ["@group"], resources: [things], verbs: [get, list, watch]}
- {apiGroups: ["@group"], resources: [things/status], verbs: [patch]}
- {apiGroups: ["@group"], resources: [things/finalizers], verbs: [update]}`
	configMapRules = `
- {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, watch]}`
)

// asAccount is the spec of a TemplateController that uses a service account for the Things of the test's namespace.
func asAccount(account, rest string) string {
	return `
serviceAccountRef: {namespace: "@ns", name: ` + account + `}
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"]}` + rest
}

// told counts the requests on a resource since the mark by user: the operator itself, or "as " and the impersonated
// user.
func (op *operator) told(since audit.Mark, resource string) map[string]int {
	op.t.Helper()
	counts := map[string]int{}
	for _, e := range op.requests(since) {
		if e.ObjectRef.Resource != resource || e.ImpersonatedUser == nil && e.ResponseStatus.Code == 403 {
			continue // of another resource, or rejected because impersonation is forbidden
		}
		who := "the operator"
		if e.ImpersonatedUser != nil {
			who = "as " + e.ImpersonatedUser.Username + " in " + e.ObjectRef.Namespace
		}
		counts[who]++
	}
	return counts
}

func TestServiceAccountIsUsedForAllRequests(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	user := s.account("robot", thingRules+configMapRules)
	other := s.account("other", thingRules+configMapRules)
	op := startOperator(t)
	before := mark(t)
	s.controller(asAccount("robot", "\nchildren:"+configMapsOf("drop", "")+"\nstatus: {template: \"count: {{ len .children.drop }}\"}"))
	s.thing("one", `{drop: {a: "1", b: "2"}}`)
	waitFor(t, s.things(), "one", ready)
	s.patch(s.things(), "one", `{"spec":{"drop":{"a":"3","b":null}}}`)
	waitGone(t, s.in(configMaps), "one-drop-b")
	waitFor(t, s.things(), "one", ready)
	op.quiet(time.Second)
	for _, resource := range []string{"things", "configmaps"} {
		got := op.told(before, resource)
		t.Logf("requests on %s: %v", resource, got)
		if len(got) != 1 || got["as "+user+" in "+s.ns] == 0 {
			t.Errorf("requests on %s were made by %v, want by %s in %s alone", resource, got, user, s.ns)
		}
	}

	// A controller without a service account has its own watches.
	before = mark(t)
	s.controllerNamed("@id-own", watchThings+"\nchildren:"+configMapsOf("keep", "")+"\nstatus: {readyCondition: OwnReady}")
	s.patch(s.things(), "one", `{"spec":{"keep":{"a":"1"}}}`)
	waitFor(t, s.in(configMaps), "one-keep-a", nil)
	op.quiet(time.Second)
	began := tally(slices.DeleteFunc(op.requests(before), func(e audit.Event) bool { return e.Verb != "watch" || e.ImpersonatedUser != nil }))
	if began["watch things 200"] == 0 || began["watch configmaps 200"] == 0 {
		t.Errorf("the controller without an account began the watches %v, want some of its own", began)
	}

	// Another service account continues with the same children.
	child, err := s.in(configMaps).Get(t.Context(), "one-drop-a", getOptions)
	if err != nil {
		t.Fatal(err)
	}
	before = mark(t)
	s.patchController(`{"spec":{"serviceAccountRef":{"name":"other"}}}`)
	s.waitController("@id", ready)
	s.patch(s.things(), "one", `{"spec":{"drop":{"a":"4"}}}`)
	waitFor(t, s.in(configMaps), "one-drop-a", func(o *unstructured.Unstructured) error {
		if o.GetUID() != child.GetUID() {
			return poll.Stop(errors.New("the child was recreated"))
		}
		return same("data", map[string]any{"value": "4"}, o.Object["data"])
	})
	waitFor(t, s.things(), "one", ready)
	op.quiet(time.Second)
	var writes []audit.Event
	for _, e := range op.writes(before) {
		// The controller without a service account writes the same status, so conflicts do not count.
		if e.ImpersonatedUser != nil && e.ImpersonatedUser.Username == other && e.ResponseStatus.Code != 409 {
			writes = append(writes, e)
		}
	}
	if diff := same("writes as the other account", map[string]int{"patch configmaps 200": 1, "patch things/status 200": 1}, tally(writes)); diff != nil {
		t.Error(diff)
	}
}

var ruleInMessage = regexp.MustCompile(`add (\{apiGroups: [^}]*\}) to a Role in namespace (\S+) bound to (it|templater) by a RoleBinding`)

// heed grants exactly the rules that the message asks for, in addition to earlier ones.
func (s *scope) heed(user, text string, granted map[string][]string) {
	s.t.Helper()
	asked := ruleInMessage.FindAllStringSubmatch(text, -1)
	if len(asked) == 0 {
		s.t.Fatalf("the message gives no rule: %s", text)
	}
	for _, m := range asked {
		rule, namespace, who := "- "+m[1], m[2], map[string]string{"it": user, "templater": operatorOf(s.t)}[m[3]]
		if namespace != s.ns {
			s.t.Fatalf("the message names namespace %s, want %s: %s", namespace, s.ns, text)
		}
		if slices.Contains(granted[m[3]], rule) {
			continue
		}
		granted[m[3]] = append(granted[m[3]], rule)
		s.grant("heeded-"+m[3], who, strings.Join(granted[m[3]], "\n"))
	}
}

func TestMissingServiceAccountPermissionsAreNamed(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controllerNamed("@id-good", watchThings+"\nchildren:"+configMapsOf("keep", "")+"\nstatus: {readyCondition: GoodReady}")
	s.apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}`)
	s.applyController("@id", asAccount("robot", "\nchildren:"+configMapsOf("drop", "")))
	s.thing("one", `{drop: {a: "1"}}`)
	before := mark(t)

	user, granted, last := "system:serviceaccount:"+s.ns+":robot", map[string][]string{}, ""
	for step := 1; ; step++ {
		if step > 12 {
			t.Fatal("rule after rule is asked for")
		}
		began := time.Now()
		var text string
		eventually(t, soon, func() error {
			var err error
			text, err = s.complaint()
			if err == nil && text != "" && text == last {
				err = fmt.Errorf("still: %s", text)
			}
			return err
		})
		t.Logf("%s later: %s", time.Since(began).Round(10*time.Millisecond), text)
		if text == "" {
			break
		}
		last = text
		// Other controllers continue meanwhile.
		began = time.Now()
		name := fmt.Sprint("other-", step)
		s.thing(name, `{keep: {a: "1"}}`)
		waitFor(t, s.in(configMaps), name+"-keep-a", nil)
		t.Logf("another controller made a child in %s", time.Since(began).Round(10*time.Millisecond))
		s.heed(user, text, granted)
	}
	if len(granted["templater"]) != 1 || len(granted["it"]) < 2 {
		t.Errorf("granted %v, want impersonation, and permissions on parents and children", granted)
	}
	reviews, err := env.cluster.Audit().Since(before, func(e audit.Event) bool { return e.ObjectRef.Resource == "selfsubjectaccessreviews" })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d access reviews", len(reviews))
	if len(reviews) == 0 || len(reviews) > 400 {
		t.Errorf("%d access reviews, want a few", len(reviews))
	}
}

// complaint returns the message of the missing permission that blocks the controller @id or the Thing one, or "" if
// none is missing. An error means that neither is known yet.
func (s *scope) complaint() (string, error) {
	tc, err := env.client.Resource(controllers).Get(s.t.Context(), s.id, getOptions)
	if err != nil {
		return "", err
	}
	if condition(tc, "Watching", "False", "Forbidden") == nil {
		return message(tc, "Watching"), nil
	}
	if condition(tc, "StatusWritable", "False", "Forbidden") == nil {
		return message(tc, "StatusWritable"), nil
	}
	one, err := s.things().Get(s.t.Context(), "one", getOptions)
	if err != nil {
		return "", err
	}
	if condition(one, "Ready", "False", "ChildForbidden") == nil {
		return message(one, "Ready"), nil
	}
	return "", errors.Join(ready(tc), ready(one))
}

func TestSecretsRequireServiceAccountPermission(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const treasure = "dHJlYXN1cmU="
	s := newScope(t)
	s.defineThing()
	s.apply(`{apiVersion: v1, kind: Secret, metadata: {name: one, labels: {team: red}}, data: {key: "` + treasure + `"}}`)
	user := s.account("robot", thingRules+configMapRules)
	op := startOperator(t)
	before := mark(t)
	copied := `
children:
- name: copy
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-copy"}
    data: {all: {{ toJson .parent | quote }}}
`
	ref := `serviceAccountRef: {namespace: "@ns", name: robot}` + "\n"
	s.applyController("@id-parent", ref+`watch: {apiVersion: v1, kind: Secret, namespaces: ["@ns"]}`+copied)
	s.applyController("@id-field", ref+`watch: {apiVersion: v1, kind: Secret, fieldSelector: metadata.name=one}`+copied)
	child := `
children:
- name: secret
  %s
  template: |
    apiVersion: v1
    kind: Secret
    metadata: {name: one}
    stringData: {mine: "1"}
`
	status := `
status:
  readyCondition: %s
  template: |
    loot: {{ toJson .children.secret }}
`
	s.applyController("@id-child", asAccount("robot", fmt.Sprintf(child, "updateStrategy: {type: Recreate}")+fmt.Sprintf(status, "ChildReady")))
	s.applyController("@id-orphan", asAccount("robot", fmt.Sprintf(child, "deletionPolicy: Orphan")+fmt.Sprintf(status, "OrphanReady")))
	s.applyController("@id-related", asAccount("robot", `
related:
- {name: loot, apiVersion: v1, kind: Secret, namespaces: ["@ns"]}
children:
- name: copy
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-related"}
    data: {all: {{ toJson .related.loot | quote }}}
status:
  readyCondition: RelatedReady
  template: |
    related: {{ toJson .related.loot }}
`))
	s.thing("one", "{}")
	for _, name := range []string{"@id-parent", "@id-field", "@id-child", "@id-orphan", "@id-related"} {
		tc := s.waitController(name, func(o *unstructured.Unstructured) error {
			if err := condition(o, "Watching", "False", "Forbidden"); err != nil {
				return err
			}
			if !strings.Contains(message(o, "Watching"), "secrets") {
				return fmt.Errorf("the message does not name secrets: %s", message(o, "Watching"))
			}
			return nil
		})
		t.Logf("%s: %s", name, message(tc, "Watching"))
	}
	op.quiet(time.Second)
	one, err := s.things().Get(t.Context(), "one", getOptions)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(one.Object, s.list(s.in(configMaps), "")); strings.Contains(text, treasure) || strings.Contains(text, "treasure") {
		t.Errorf("the secret got out: %s", text)
	}
	for _, e := range op.requests(before) {
		if e.ObjectRef.Resource != "secrets" {
			continue
		}
		if e.ImpersonatedUser == nil || e.ImpersonatedUser.Username != user || e.ResponseStatus.Code != 403 {
			t.Errorf("a request on Secrets that is not a refused one of the account: %s", e)
		}
	}
	secret, err := s.in(secrets).Get(t.Context(), "one", getOptions)
	if err != nil || len(secret.GetManagedFields()) != 1 {
		t.Errorf("the Secret was touched: %v, error %v", secret, err)
	}
}

func TestConstrainedImpersonation(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	s.apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}`)
	s.grant("rights-of-robot", "system:serviceaccount:"+s.ns+":robot", thingRules+configMapRules)
	may := func(verbs string) {
		s.grant("act-as-robot", operatorOf(t), `- {apiGroups: [authentication.k8s.io], resources: [serviceaccounts], resourceNames: [robot], verbs: ["impersonate:serviceaccount"]}
- {apiGroups: ["@group"], resources: [things], verbs: ["impersonate-on:serviceaccount:get", "impersonate-on:serviceaccount:list", "impersonate-on:serviceaccount:watch"]}
- {apiGroups: ["@group"], resources: [things/status], verbs: ["impersonate-on:serviceaccount:patch"]}
- {apiGroups: [""], resources: [configmaps], verbs: [`+verbs+`]}`)
	}
	may(`"impersonate-on:serviceaccount:list", "impersonate-on:serviceaccount:watch"`)
	op := startOperator(t)
	before := mark(t)
	s.controller(asAccount("robot", "\nchildren:"+configMapsOf("drop", "")))
	s.thing("one", `{drop: {a: "1"}}`)
	const want = `verbs: ["impersonate-on:serviceaccount:create", "impersonate-on:serviceaccount:delete", "impersonate-on:serviceaccount:get", "impersonate-on:serviceaccount:patch"]`
	one := waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		if text := message(o, "Ready"); !strings.Contains(text, want) {
			return fmt.Errorf("the Ready condition does not give the rule: %s", text)
		}
		return nil
	})
	t.Log(message(one, "Ready"))
	may(`"impersonate-on:serviceaccount:list", "impersonate-on:serviceaccount:watch", ` + strings.TrimSuffix(strings.TrimPrefix(want, "verbs: ["), "]"))
	waitFor(t, s.things(), "one", ready)
	for _, resource := range []string{"things", "configmaps"} {
		if got := op.told(before, resource)["the operator"]; got > 0 {
			t.Errorf("%d requests on %s were made by the operator itself", got, resource)
		}
	}
}

func TestRequireServiceAccountFlag(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	s.account("robot", thingRules+configMapRules)
	op := startOperator(t, "--require-service-account")
	before := mark(t)
	s.applyController("@id", watchThings+"\nchildren:"+configMapsOf("drop", ""))
	s.thing("one", `{drop: {a: "1"}}`)
	tc := s.waitController("@id", func(o *unstructured.Unstructured) error {
		return condition(o, "Accepted", "False", "ServiceAccountRequired")
	})
	t.Log(message(tc, "Accepted"))
	op.quiet(time.Second)
	if got := op.told(before, "things"); len(got) > 0 {
		t.Errorf("requests for a controller that names no account: %v", got)
	}
	s.applyController("@id", asAccount("robot", "\nchildren:"+configMapsOf("drop", "")))
	waitFor(t, s.things(), "one", ready)
}

func TestDeselectedNamespaceIsPruned(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@ns-2"}}`)
	s.account("robot", thingRules+configMapRules)
	op := startOperator(t)
	s.controller(asAccount("robot", "\nchildren:"+configMapsOf("drop", "")))
	s.thing("one", `{drop: {a: "1"}}`)
	waitFor(t, s.in(configMaps), "one-drop-a", nil)
	op.Stop()
	s.patchController(`{"spec":{"watch":{"namespaces":["@ns-2"]}}}`)
	op = startOperator(t)
	waitGone(t, s.in(configMaps), "one-drop-a")
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		namespaces, _, _ := unstructured.NestedStringSlice(o.Object, "status", "childNamespaces")
		return errors.Join(same("status.childNamespaces", []string{s.ns + "-2"}, namespaces), condition(o, "Watching", "False", "Forbidden")) // in the new namespace
	})
	op.Stop()
}

func TestMissingServiceAccountAndNamespaceAreNamed(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.grant("act-as-ghost", operatorOf(t), `- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [ghost], verbs: [impersonate]}`)
	s.applyController("@id", asAccount("ghost", "\nchildren:"+configMapsOf("keep", "")))
	s.waitController("@id", s.says("service account @ns/ghost does not exist: create it with the permissions that the templates need, correct spec.serviceAccountRef, or, if its namespace was deleted, bind the permissions to its name with a ClusterRoleBinding"))
	s.account("ghost", thingRules+configMapRules)
	s.waitController("@id", ready)

	s.applyController("@id-typo", "\nwatch: {apiVersion: \"@group/v1\", kind: Thing, namespaces: [\"@id-typo\"]}\nchildren:"+configMapsOf("keep", ""))
	s.waitController("@id-typo", s.says("namespaces in spec.watch.namespaces that do not exist: @id-typo"))
}

// says waits for a Watching condition whose message contains text.
func (s *scope) says(text string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if got := message(o, "Watching"); !strings.Contains(got, s.expand(text)) {
			return fmt.Errorf("the message of Watching is %q, want %q in it", got, s.expand(text))
		}
		return nil
	}
}

// secretCopies creates a ConfigMap from a Secret that is not its child.
const secretCopies = `
related:
- {name: source, apiVersion: v1, kind: Secret, namespaces: ["@ns"], select: "name: source"}
children:
- name: copy
  template: |
    {{- range .related.source }}
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}-copy"}
    data: {text: {{ .data.word | b64dec }}}
    {{- end }}
`

// A running watch continues after its permission is revoked, until the API server or templater ends it.
func TestRevokedRelatedPermissionAppliesToNewAndEditedParents(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	user := s.account("robot", thingRules+configMapRules)
	grant := func() {
		s.grant("reads-secrets", user, `- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}`)
	}
	grant()
	startOperator(t)
	s.controllerNamed("@id", asAccount("robot", secretCopies))
	s.apply(`{apiVersion: v1, kind: Secret, metadata: {name: source}, stringData: {word: first}}`)
	thing := func(name string) { s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: ` + name + `}}`) }
	thing("early")
	s.waitText("early-copy", "first")
	early := waitFor(t, s.in(configMaps), "early-copy", nil)

	if err := env.clientset.RbacV1().RoleBindings(s.ns).Delete(t.Context(), "reads-secrets", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		if text := message(o, "Watching"); !strings.Contains(text, "secrets") {
			return fmt.Errorf("the Watching condition is %q, want the missing permission", text)
		}
		return condition(o, "Watching", "False", "Forbidden")
	})
	thing("late")
	waitFor(t, s.things(), "late", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "RelatedUnreadable") })
	if _, err := s.in(configMaps).Get(t.Context(), "late-copy", getOptions); !apierrors.IsNotFound(err) {
		t.Errorf("read the copy for the new parent: %v, want none", err)
	}
	s.patch(s.things(), "early", `{"spec":{"edited":true}}`)
	waitFor(t, s.things(), "early", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "RelatedUnreadable") })
	if now := waitFor(t, s.in(configMaps), "early-copy", nil); now.GetUID() != early.GetUID() || now.GetResourceVersion() != early.GetResourceVersion() {
		t.Errorf("the earlier copy has changed: %v", now.Object)
	}

	grant()
	s.waitText("late-copy", "first")
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Watching", "True", "") })
	waitFor(t, s.things(), "early", ready)
	waitFor(t, s.things(), "late", ready)
}
