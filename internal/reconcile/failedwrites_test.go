package reconcile_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// chain has a ConfigMap db, a ConfigMap web that depends on it, a ConfigMap page that depends on web, and an independent ConfigMap side.
const chain = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: page
    dependsOn: [web]
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: {{ .spec.text }}}}
  - name: web
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {text: {{ .spec.text }}, db: {{ (first .children.db).metadata.name }}}}
  - name: db
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: db}, data: {text: {{ .spec.db }}}}
  - name: side
    template: |
      {{ range .spec.sides }}
      ---
      {apiVersion: v1, kind: ConfigMap, metadata: {name: {{ . }}}, data: {text: {{ $.spec.text }}}}
      {{ end }}
`

func chainApp(text, db, sides string) string {
	return "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one}, spec: {text: " + text + ", db: " + db + ", sides: [" + sides + "]}}"
}

// recreated returns chain with the strategy Recreate for some child templates.
func recreated(t *testing.T, entries ...string) string {
	t.Helper()
	manifest := chain
	for _, entry := range entries {
		manifest = with(t, manifest, "  - name: "+entry+"\n", "  - name: "+entry+"\n    updateStrategy: {type: Recreate}\n")
	}
	return manifest
}

func TestFailedWriteStopsDependentUpdates(t *testing.T) {
	const by = `: denied by admission webhook "no.example.org"`
	const both = "; not updated because of this: ConfigMap ns/page (children[page]); ConfigMap ns/web (children[web])"
	tamper := func(c *cluster, name string) {
		c.KubectlEdit(configMap(name), func(o *unstructured.Unstructured) { o.Object["data"].(map[string]any)["text"] = "edited" })
	}
	edit := func(c *cluster) { c.KubectlApply(chainApp("bye", "one", "side")) }
	for _, row := range []struct {
		why, manifest string
		change        func(c *cluster)
		refuse        string
		want, again   []string
		message       string
	}{
		{
			"an update", chain, func(c *cluster) { c.KubectlApply(chainApp("bye", "two", "side")) }, "update configmaps db",
			[]string{"update configmaps db", "update configmaps side", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by + both,
		},
		{
			"a repair", chain, func(c *cluster) { tamper(c, "db"); edit(c) }, "update configmaps db",
			[]string{"update configmaps db", "update configmaps side", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by + both,
		},
		{
			"a repair of a dependent", chain, func(c *cluster) {
				tamper(c, "web")
				tamper(c, "page")
				c.KubectlApply(chainApp("hello", "two", "side"))
			}, "update configmaps web",
			[]string{"update configmaps db", "update configmaps web", "update configmaps page", "status apps one"}, []string{"update configmaps web"}, "cannot update ConfigMap ns/web" + by,
		},
		{
			"a creation", chain, func(c *cluster) { c.RemoveNow(configMap("db")); edit(c) }, "create configmaps db",
			[]string{"create configmaps db", "update configmaps side", "status apps one"}, []string{"create configmaps db"}, "cannot create ConfigMap ns/db" + by + "; not updated because of this: ConfigMap ns/page (children[page])",
		},
		{
			"a repair, while a dependent is missing", chain, func(c *cluster) { tamper(c, "db"); c.RemoveNow(configMap("page")); edit(c) }, "update configmaps db",
			[]string{"update configmaps db", "update configmaps side", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by + "; not updated because of this: ConfigMap ns/web (children[web])",
		},
		{
			"a repair, while dependents are repaired or created", chain, func(c *cluster) { tamper(c, "db"); tamper(c, "web"); c.RemoveNow(configMap("page")) }, "update configmaps db",
			[]string{"update configmaps db", "update configmaps web", "create configmaps page", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by,
		},
		{
			"the replacement of a dependent", recreated(t, "web"), func(c *cluster) { tamper(c, "db"); edit(c) }, "update configmaps db",
			[]string{"update configmaps db", "update configmaps side", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by + both,
		},
		{
			"a replacement", recreated(t, "db"), func(c *cluster) { c.KubectlApply(chainApp("bye", "two", "side")) }, "delete-foreground configmaps db",
			[]string{"update configmaps side", "delete-foreground configmaps db", "status apps one"}, []string{"delete-foreground configmaps db"}, "cannot delete ConfigMap ns/db" + by + both,
		},
		{
			"an independent replacement", recreated(t, "side"), func(c *cluster) { c.KubectlApply(chainApp("bye", "two", "side")) }, "update configmaps db",
			[]string{"update configmaps db", "delete-foreground configmaps side", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by + both,
		},
		{
			"nothing is pruned", chain, func(c *cluster) { c.KubectlApply(chainApp("bye", "two", "")) }, "update configmaps db",
			[]string{"update configmaps db", "status apps one"}, []string{"update configmaps db"}, "cannot update ConfigMap ns/db" + by + both,
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, row.manifest, chainApp("hello", "one", "side"))
			c.Settle()
			c.Refuse[row.refuse] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
			row.change(c)
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, "the reconciliation", requests, row.want...)
			c.WantReady("False ChildRejected: " + row.message)
			_, requests = c.Reconcile("apps", "one")
			wantRequests(t, "another one", requests, row.again...)
			clear(c.Refuse)
			c.Settle()
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True ") {
				t.Errorf("afterwards: ready condition %q", got)
			}
			wantRequests(t, "a second run", c.Settle())
		})
	}
}
