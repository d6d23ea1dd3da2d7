package controllers

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// tenants makes a ClusterRole, and ConfigMaps in the namespace that an App names.
const tenants = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: role
    scope: Cluster
    template: |
      {{ with .spec.role }}
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: {{ . }}}
      {{ end }}
  - name: maps
    scope: Cluster
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}, namespace: {{ $.spec.space }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
`

const tenant = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a], space: far, role: r, text: hello}
`

// farMap is where a ConfigMap of the namespace far is.
func farMap(name string) request.Location {
	at := configMap(name)
	at.Namespace = "far"
	return at
}

var clusterRole = request.Location{Resource: fakeKinds[schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}].Resource, Name: "r"}

// applyAs is apply for an object that is not there yet, and that gets this UID.
func (c *cluster) applyAs(text string, uid types.UID) {
	c.t.Helper()
	o := parse(c.t, text)
	o.SetUID(uid)
	c.Store(locationOf(o), o)
	c.deliver()
}

// writes settles, and returns the writes alone.
func (c *cluster) writes() []string {
	c.t.Helper()
	return slices.DeleteFunc(c.settle(), func(request string) bool {
		return strings.Contains(request, "get ") || strings.Contains(request, "list ")
	})
}

func TestTemplateControllerThatGoesWithChildrenInOtherNamespaces(t *testing.T) {
	t.Run("Orphan leaves them", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.goes()
		wantRequests(t, "deleted", c.writes(), "status apps one", parentRelease, givenUp)
		c.apply(tenants)
		wantRequests(t, "another one of that name takes them up", c.writes(), ownFinalizer, parentHolds, "status apps one")
		c.quiet("they are its own")
	})
	t.Run("Delete takes them, but for those that say otherwise", func(t *testing.T) {
		c := begun(t, with(t, tenants, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n", "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), tenant)
		c.goes()
		wantRequests(t, "deleted", c.writes(), "status apps one", parentRelease, "delete configmaps a", givenUp)
	})
	for policy, want := range map[string][]string{"Orphan": {"delete configmaps a"}, "Delete": {"delete configmaps a", "delete clusterroles r"}} {
		t.Run("Delete goes by what an object says, where its entry is gone: "+policy, func(t *testing.T) {
			spec := with(t, tenants, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n")
			c := begun(t, with(t, spec, "- name: role\n", "- name: role\n    deletionPolicy: "+policy+"\n"), tenant)
			from, to := strings.Index(spec, "  - name: role"), strings.Index(spec, "  - name: maps")
			c.apply(with(t, spec, spec[from:to], "", "{{ $.spec.text }}", "{{ fail \"x\" }}"))
			wantRequests(t, "a template fails, so that nothing is pruned", c.run(), "status apps one")
			c.goes()
			wantRequests(t, "deleted", c.writes(), slices.Concat([]string{"status apps one", parentRelease}, want, []string{givenUp})...)
		})
	}
}

// TestScopeIsEdited moves objects between the scopes: each keeps its identity.
// A TemplateController leaves its children, and another one of its name is for another kind of parents. Of these, none has the name of the
// parent that the children were made for.
func TestChildrenOfAParentOfAnotherKindAreKept(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.goes()
	c.settle()
	c.gone(appsController)
	c.settle()
	c.apply(with(t, tenants, "kind: App}", "kind: Gadget}"))
	c.apply(with(t, tenant, "kind: App", "kind: Gadget", "name: one", "name: two", "role: r", "role: s", "names: [a]", "names: [b]"))
	c.settle()
	c.clock.SetTime(c.clock.Now().Add(2 * queue.CollectorTime))
	c.settle()
	if c.Objects[clusterRole] == nil || c.Objects[farMap("a")] == nil {
		t.Error("a child was deleted")
	}
}

// everywhere reports whether the controller reads its ConfigMaps in all namespaces.
func (c *cluster) everywhere() bool {
	return slices.ContainsFunc(c.owners["apps"], func(want watch.Want) bool { return want.Resource == farMap("").Resource && want.Namespace == "" })
}

// TestAccountWithChildrenInOtherNamespaces follows an entry through scopes while the account is limited to a namespace: nothing that is
// elsewhere is lost sight of.
func TestAccountWithChildrenInOtherNamespaces(t *testing.T) {
	anywhere := with(t, tenants, "kind: App}", "kind: App, namespaces: [ns]}\n  serviceAccountRef: {namespace: team, name: robot}")
	near := with(t, anywhere, "name: maps\n    scope: Cluster", "name: maps")
	near = with(t, near, "name: role\n    scope: Cluster", "name: role", "with .spec.role", "with .spec.no")
	as := func(requests ...string) []string {
		for i, r := range requests {
			requests[i] = "team:robot: " + r
		}
		return requests
	}
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(anywhere)
			c.apply(tenant)
			wantRequests(t, "first pass", c.writes(), append([]string{ownFinalizer}, as(parentHolds, "create clusterroles r", "create configmaps a", "status apps one")...)...)
			c.quiet("first pass")
			if !c.everywhere() {
				t.Errorf("it watches %v", c.owners["apps"])
			}
			c.apply(near)
			c.apply(with(t, tenant, "space: far", "space: ns"))
			if restart {
				c.start()
			}
			c.run()
			if c.Objects[farMap("a")] != nil || c.Objects[clusterRole] != nil || c.Objects[configMap("a")] == nil {
				t.Error("what is elsewhere is there still, or nothing is where it is to be")
			}
			if !c.everywhere() || !slices.Contains(c.Objects[one].GetFinalizers(), "finalize.templater.dev/apps") {
				t.Error("it does not see whether what it has deleted is gone")
			}
			wantRequests(t, "it is gone", c.writes(), append(as(parentRelease), givenUp)...)
			c.clock.SetTime(c.clock.Now().Add(permissions.BelievedFor))
			wantRequests(t, "nothing is left elsewhere", c.writes())
			if c.everywhere() {
				t.Errorf("it watches %v, want its own namespace alone", c.owners["apps"])
			}
			c.quiet("it watches less")
		})
	}
}

func TestNamespacesAreLimitedWhileTheOperatorIsDown(t *testing.T) {
	limited := asRobot(t)
	c := begun(t, with(t, limited, "namespaces: [ns]", "namespaces: []"), app, with(t, app, "namespace: ns, name: one", "namespace: far, name: far"))
	c.apply(limited)
	c.start()
	wantRequests(t, "start", c.run(), "team:robot: get apps far", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
	c.quiet("start")
	c.clock.SetTime(c.clock.Now().Add(permissions.BelievedFor))
	c.run()
	c.clock.SetTime(c.clock.Now().Add(permissions.BelievedFor))
	wantRequests(t, "nothing is left elsewhere", c.run())
	for _, want := range c.owners["apps"] {
		if want.Namespace != "ns" {
			t.Errorf("it watches %s still", want)
		}
	}
}
