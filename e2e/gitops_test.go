package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
)

// everythingOfATeam is in the order in which kustomize prints it: kubectl deletes in this order, without waiting in
// between.
const everythingOfATeam = `
apiVersion: v1
kind: Namespace
metadata: {name: "@space"}
---
@definition
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer, namespace: "@space"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: deployer, namespace: "@space"}
rules:
- {apiGroups: ["@group"], resources: [shops], verbs: [get, list, watch, patch]}
- {apiGroups: ["@group"], resources: [shops/status], verbs: [patch]}
- {apiGroups: ["@group"], resources: [shops/finalizers], verbs: [update]}
- {apiGroups: [""], resources: [configmaps], verbs: [create, delete, get, list, patch, watch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: act-as-deployer, namespace: "@space"}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [deployer], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer, namespace: "@space"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, name: deployer, namespace: "@space"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: act-as-deployer, namespace: "@space"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: act-as-deployer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}]
---
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: "@controller"}
spec:
  className: "@class"
  serviceAccountRef: {namespace: "@space", name: deployer}
  watch: {apiVersion: "@group/v1", kind: Shop, namespaces: ["@space"]}
  finalize: {order: Reverse}
  children:
  - name: settings
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
---
{apiVersion: "@group/v1", kind: Shop, metadata: {name: one, namespace: "@space"}}
`

const gitopsPage = "docs/how-to/gitops.md"

// argo returns what Argo CD shows for an object with a health check of the page.
func argo(t *testing.T, script string, o map[string]any) string {
	t.Helper()
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", toLua(l, o))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	return l.GetField(l.Get(-1), "status").String()
}

func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, each := range v {
			table.RawSetString(key, toLua(l, each))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, each := range v {
			table.Append(toLua(l, each))
		}
		return table
	case int64:
		return lua.LNumber(v)
	}
	return lua.LString(fmt.Sprint(value))
}

func TestHealthInArgoCDAndFlux(t *testing.T) {
	parallel(t)
	checks := blocksIn(t, gitopsPage, "Health", "lua")
	for _, test := range []struct {
		why           string
		check         int // index on the page: 0 TemplateControllers, 1 parents
		status        string
		reason        string
		generation    int64 // observed generation; 2 is the current one
		argo, kstatus string
	}{
		{"nothing is reported yet, which kstatus takes for ready", 0, "", "", 0, "Progressing", "Current"},
		{"ready", 0, "True", v1.ReasonReady, 2, "Healthy", "Current"},
		{"ready with the spec before", 0, "True", v1.ReasonReady, 1, "Progressing", "InProgress"},
		{"syncing", 0, "False", v1.ReasonSyncing, 2, "Progressing", "InProgress"},
		{"suspended", 0, "False", v1.ReasonSuspended, 2, "Suspended", "InProgress"},
		{"invalid", 0, "False", v1.ReasonInvalidTemplate, 2, "Degraded", "InProgress"},
		{"a parent is ready", 1, "True", v1.ReasonReady, 2, "Healthy", "Current"},
		{"a parent waits", 1, "False", v1.ReasonWaiting, 2, "Progressing", "InProgress"},
		{"a parent's rollout", 1, "False", v1.ReasonProgressing, 2, "Progressing", "InProgress"},
		{"a parent has a conflict", 1, "False", v1.ReasonChildConflict, 2, "Degraded", "InProgress"},
	} {
		t.Run(test.why, func(t *testing.T) {
			o := map[string]any{
				"apiVersion": "templater.dev/v1", "kind": "TemplateController",
				"metadata": map[string]any{"name": "a", "generation": int64(2)},
			}
			if test.status != "" {
				status := map[string]any{"conditions": []any{map[string]any{
					"type": v1.ConditionReady, "status": test.status, "reason": test.reason, "message": "m", "observedGeneration": test.generation,
				}}}
				if test.check == 0 {
					status["observedGeneration"] = test.generation
				}
				o["status"] = status
			}
			if got := argo(t, checks[test.check], o); got != test.argo {
				t.Errorf("Argo CD shows %s, want %s", got, test.argo)
			}
			result, err := kstatus.Compute(&unstructured.Unstructured{Object: o})
			if err != nil || string(result.Status) != test.kstatus {
				t.Errorf("kstatus is %v with error %v, want %s", result, err, test.kstatus)
			}
		})
	}
}

// TestDeletingAllManifestsAtOnce deletes namespace, CRD, RBAC, TemplateController and parents with one command, as
// GitOps tools do. It completes if the permissions for the finalizers are kept. Otherwise the TemplateController
// reports the missing ones, and it completes once they are granted.
func TestDeletingAllManifestsAtOnce(t *testing.T) {
	parallel(t)
	s := newScope(t)
	startOperator(t)
	for _, kept := range []bool{true, false} {
		t.Logf("the permissions for the finalizers are kept: %v", kept)
		space := fmt.Sprintf("%s-%v", s.id, kept)
		expand := strings.NewReplacer("@space", space, "@controller", space, "@class", classOf(t), "@definition", definition("Shop", "Namespaced")).Replace
		all := expand(everythingOfATeam)
		rights := strings.NewReplacer("team-a-deletion", space+"-deletion", "team-a", space, "[example.org]", "[@group]",
			"{kind: ServiceAccount, name: templater, namespace: templater-system}", `{apiGroup: rbac.authorization.k8s.io, kind: User, name: "@operator"}`,
		).Replace(yamlIn(t, gitopsPage, "Deletion")[0])
		file := filepath.Join(t.TempDir(), "all.yaml")
		if err := os.WriteFile(file, []byte(s.expand(all)), 0o600); err != nil {
			t.Fatal(err)
		}
		if kept {
			s.apply(rights)
		}
		base, team, _ := strings.Cut(all, "---\napiVersion: templater.dev/v1")
		s.apply(base)
		s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Namespace: space, Resource: "serviceaccounts", Name: "deployer", Verb: "impersonate"})
		s.apply("apiVersion: templater.dev/v1" + team)
		waitFor(t, env.client.Resource(s.resource("shops")).Namespace(space), "one", ready)

		// The CRD, and the parent with it, may be deleted before kubectl reaches the parent.
		err := env.run(t.Context(), "", "delete", "--wait=false", "--ignore-not-found", "-f", file)
		if err != nil && !strings.Contains(err.Error(), `no matches for kind "Shop"`) {
			t.Fatal(err)
		}
		if !kept {
			waitFor(t, env.client.Resource(controllers), space, func(o *unstructured.Unstructured) error {
				if got := message(o, "Ready"); !strings.HasPrefix(got, "being deleted: ") || !strings.Contains(got, "if its namespace was deleted, bind the permissions to its name with a ClusterRoleBinding") {
					return fmt.Errorf("the message is %q", got)
				}
				return condition(o, "Ready", "False", "Forbidden")
			})
			s.apply(rights)
		}
		waitGone(t, env.client.Resource(controllers), space)
		waitGone(t, env.client.Resource(definitions), s.expand("shops.@group"))
		waitGone(t, env.client.Resource(namespaces), space)
	}
}
