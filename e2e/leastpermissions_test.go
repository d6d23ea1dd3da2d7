package e2e

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/cluster/audit"
	"github.com/templater-dev/templater/e2e/manifest"
)

// ownRoles are the roles of templater's service account, bound to one user. The ClusterRole includes the rules of the
// components openshift and secure-metrics.
const ownRoles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "@id-own"}
rules: EVERYWHERE
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-own"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "@id-own"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "USER"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: own}
rules: INSIDE
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: own}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: own}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "USER"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-things"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "e2e-@id"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "USER"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "@id-children"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: templater-e2e-children}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "USER"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: act-as-nobody}
rules: [{apiGroups: [""], resources: [serviceaccounts], resourceNames: [nobody], verbs: [impersonate]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: act-as-nobody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: act-as-nobody}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "USER"}]
`

// rulesIn returns the rules of a role, with the class inserted into object names.
func rulesIn(t *testing.T, role *unstructured.Unstructured, more []any) []rbacv1.PolicyRule {
	t.Helper()
	list, _, err := unstructured.NestedSlice(role.Object, "rules")
	if err != nil {
		t.Fatal(err)
	}
	role.Object["rules"] = append(list, more...)
	rules := rulesOf(t, *role)
	names := strings.NewReplacer("templater-seal", "templater-seal", "templater", "templater-"+classOf(t))
	for _, rule := range rules {
		for i, name := range rule.ResourceNames {
			rule.ResourceNames[i] = names.Replace(name)
		}
	}
	return rules
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// uses reports whether a request needs a verb of a rule. An apply that creates an object needs two.
func uses(e audit.Event, rule rbacv1.PolicyRule, resource, verb string) bool {
	asked := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		asked += "/" + e.ObjectRef.Subresource
	}
	created := verb == "create" && e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated
	return (e.Verb == verb || created) && asked == resource && slices.Contains(rule.APIGroups, e.ObjectRef.APIGroup) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, e.ObjectRef.Name))
}

// unused returns the verbs of rules that no request has needed.
func unused(events []audit.Event, rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, rule := range rules {
		each := []rbacv1.PolicyRule{rule}
		if len(rule.ResourceNames) > 0 {
			each = nil
			for _, name := range rule.ResourceNames {
				one := rule
				one.ResourceNames = []string{name}
				each = append(each, one)
			}
		}
		for _, one := range each {
			for _, resource := range one.Resources {
				for _, verb := range one.Verbs {
					if resource != "*/finalizers" && !slices.ContainsFunc(events, func(e audit.Event) bool { return uses(e, one, resource, verb) }) {
						out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", verb, resource, strings.Join(one.ResourceNames, ""))))
					}
				}
			}
		}
	}
	return out
}

// TestOperatorUsesAllItsPermissions runs templater with exactly the roles of config/rbac as its own, and makes it use
// all of them. Each verb is used on each resource and name, so the roles are minimal, and no request is rejected. Only
// the API server's admission plugin uses the permission on finalizers.
func TestOperatorUsesAllItsPermissions(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	user := "least-" + classOf(t)
	role, err := manifest.OperatorRole(env.root, "own")
	if err != nil {
		t.Fatal(err)
	}
	reviews, err := manifest.Added(env.root, filepath.Join("components", "secure-metrics", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := manifest.Read(env.root, filepath.Join("rbac", "lease.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	everywhere, inside := rulesIn(t, role, reviews), rulesIn(t, lease, nil)
	s.apply(strings.NewReplacer("USER", user, "EVERYWHERE", asJSON(t, everywhere), "INSIDE", asJSON(t, inside)).Replace(ownRoles))
	configuration, err := manifest.Read(env.root, filepath.Join("webhook", "configuration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	configuration.SetName("templater-" + classOf(t))
	webhook := configuration.Object["webhooks"].([]any)[0].(map[string]any)
	webhook["clientConfig"] = map[string]any{"url": "https://127.0.0.1:1"}
	webhook["objectSelector"] = map[string]any{"matchLabels": map[string]any{"nobody": "has-this"}}
	if err := s.applyObject(configuration); err != nil {
		t.Fatal(err)
	}
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: "templater.dev", Resource: "templatecontrollers", Verb: "list"})
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Namespace: s.ns, Resource: "secrets", Name: "templater-seal", Verb: "patch"})
	s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: s.group, Resource: "things", Verb: "list"})

	since, metrics := mark(t), freeAddress(t)
	// If the API server supports streaming lists, client-go needs the verb list only as a fallback.
	startOperatorIn(t, []string{"KUBE_FEATURE_WatchListClient=false"}, user, "--revisions", "--leader-elect-resource-namespace", s.ns, "--seal-namespace", s.ns,
		"--webhook-bind-address", freeAddress(t), "--webhook-namespace", s.ns, "--metrics-bind-address", metrics, "--metrics-secure")
	s.controller(`
whenDeleted: DeleteChildren
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns", "@id-absent"], labelSelector: {matchLabels: {side: plain}}}
children:
- name: config
  template: |
    {{ if .spec.broken }}{{ fail "broken" }}{{ end }}
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "c-{{ .spec.color }}"}}
`)
	s.controllerNamed("@id-timed", `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"], labelSelector: {matchLabels: {side: timed}}}
finalize:
  timeout: 1s
  children:
  - name: last
    readyWhen: eq .object.data.done "yes"
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-last"}, data: {a: b}}
children:
- name: config
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}"}}
`)
	s.applyController("@id-selects", `
watch: {apiVersion: "@group/v1", kind: Thing, namespaceSelector: {matchLabels: {nobody: has-this}}}
children: [{name: none, template: "{{ fail \"never\" }}"}]
`)
	s.applyController("@id-acts", `
serviceAccountRef: {namespace: "@ns", name: nobody}
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"]}
children: [{name: none, template: "{{ fail \"never\" }}"}]
`)
	// Its spec is too large for the cache, so it is read.
	s.apply(strings.Replace(namespacedText("@id-ns", "whenDeleted: DeleteChildren\nwatch: {apiVersion: \"@group/v1\", kind: Thing, labelSelector: {matchLabels: {side: none}}}\n"+
		"values: {text: "+strings.Repeat("x", 10_000)+"}\nchildren: [{name: none, template: \"{{ fail `never` }}\"}]"), "name: robot", "name: nobody", 1))
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: p, labels: {side: plain}}, spec: {color: red}}`)
	waitFor(t, s.in(configMaps), "c-red", nil)
	s.patch(s.things(), "p", `{"spec":{"color":"blue"}}`)
	waitGone(t, s.in(configMaps), "c-red")
	for range 2 { // the second time, the Event exists
		s.patch(s.things(), "p", `{"spec":{"broken":true}}`)
		waitFor(t, s.things(), "p", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "TemplateFailed") })
		s.patch(s.things(), "p", `{"spec":{"broken":null}}`)
		waitFor(t, s.things(), "p", ready)
	}
	s.scrapeSecured(metrics)
	s.labeled("q", "timed")
	waitFor(t, s.things(), "q", func(o *unstructured.Unstructured) error { return same("finalizers", 1, len(o.GetFinalizers())) })
	s.delete(s.things(), "q")
	waitGone(t, s.things(), "q") // before that, the TemplateController is read
	s.delete(env.client.Resource(controllers), "@id")
	waitGone(t, env.client.Resource(controllers), s.id)
	s.delete(s.in(namespacedControllers), "@id-ns")

	eventually(t, soon, func() error {
		events, err := env.cluster.Audit().Since(since, func(e audit.Event) bool { return e.User.Username == user && e.ImpersonatedUser == nil })
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.ResponseStatus.Code == http.StatusForbidden {
				t.Fatalf("a right is missing: %s", e)
			}
		}
		left := append(unused(events, everywhere), unused(events, inside)...)
		left = slices.DeleteFunc(left, func(right string) bool { return right == "get templaterevisions" }) // only after a restart during a rollout
		if len(left) > 0 {
			return fmt.Errorf("unused permissions: %q", left)
		}
		return nil
	})
}

// scrapeSecured requests the metrics with the token of a service account that may not read them.
func (s *scope) scrapeSecured(address string) {
	s.t.Helper()
	s.apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: scrapes}}`)
	token, err := env.clientset.CoreV1().ServiceAccounts(s.ns).CreateToken(s.t.Context(), "scrapes", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // local only
	eventually(s.t, soon, func() error {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		return errors.Join(answer.Body.Close(), same("status", http.StatusForbidden, answer.StatusCode))
	})
}
