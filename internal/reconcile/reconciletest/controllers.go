package reconciletest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Apps creates a ConfigMap for each name in spec.names.
const Apps = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: maps
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
  status:
    template: |
      count: {{ len .children.maps }}
`

// Tenants creates a ClusterRole, and ConfigMaps in the namespace spec.space of an App.
const Tenants = `
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

// Shop creates a Job db, a ConfigMap web that waits for it because its template reads it, and a ConfigMap page that
// waits for web.
const Shop = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: page
    dependsOn: [web]
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: page}
  - name: web
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: web}
      data: {db: {{ (named "db" .children.db).status.host }}, text: {{ .spec.text }}}
  - name: db
    template: |
      apiVersion: batch/v1
      kind: Job
      metadata: {name: db, labels: {version: {{ .spec.db }}}}
`

// Readers creates a ConfigMap for each App, which lists the Jobs that the App selects.
const Readers = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - name: jobs
    apiVersion: batch/v1
    kind: Job
    select: |
      name: {{ .spec.job }}
  children:
  - name: maps
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ .metadata.name }}}
      data:
        jobs: {{ .related.jobs | collect "metadata.name" | join "," }}
        note: {{ .related.jobs | collect "spec.note" | join "," }}
  status:
    template: |
      jobs: {{ len .related.jobs }}
`

// Reporters writes the logs of all Pods in the namespace into the status of each App.
const Reporters = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  resyncPeriod: 0s
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - name: pods
    apiVersion: v1
    kind: Pod
    logs: {tailLines: 5, limitBytes: 1024}
  status:
    template: |
      {{- range $pod := .related.pods }}
      {{ $pod.metadata.name }}:
        logs: {{ logs $pod | toJson }}
      {{- end }}
`

// backup is a Job that is created before the children of a deleted parent are deleted.
const backup = `
    children:
    - name: backup
      template: |
        apiVersion: batch/v1
        kind: Job
        metadata: {name: backup}
        spec: {suspend: {{ eq (len .children.maps) 0 }}}
`

// WithBackup returns Apps with a Job in spec.finalize, and more lines of spec.finalize.
func WithBackup(t *testing.T, more ...string) string {
	t.Helper()
	text := "spec:\n  finalize:\n    order: Reverse\n"
	for _, line := range more {
		text += "    " + line + "\n"
	}
	return memserver.With(t, Apps, "spec:\n", text+strings.TrimPrefix(backup, "\n"))
}

// StatusOnly returns a TemplateController that only writes a status.
func StatusOnly(name, status string) string {
	return `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: ` + name + `}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  status:
    readyCondition: ` + strings.ToUpper(name) + `
    template: '` + status + `'
`
}

// Robot is the user of AsRobot.
const Robot = spec.AccountPrefix + "team:robot"

// AsRobot returns Apps with a service account, limited to one namespace.
func AsRobot(t *testing.T) string {
	t.Helper()
	return memserver.With(t, Apps, "kind: App}", "kind: App, namespaces: [ns]}\n  serviceAccountRef: {namespace: team, name: robot}")
}

// ManagedOnly is a filter that reads an annotation.
const ManagedOnly = `eq (index .metadata.annotations "example.org/managed") "yes"`

// Filtered returns Apps with a filter.
func Filtered(t *testing.T, filter string) string {
	t.Helper()
	return WithWatch(t, Apps, "filter: '"+filter+"'")
}

// FilteredFinalized returns Apps with a filter and a finalizer.
func FilteredFinalized(t *testing.T, filter string) string {
	t.Helper()
	return WithSpec(t, Filtered(t, filter), "finalize: {order: Reverse}")
}

// Finalized returns Apps with spec.finalize and more of its fields, such as ", timeout: 5m".
func Finalized(t *testing.T, more ...string) string {
	t.Helper()
	return WithSpec(t, Apps, "finalize: {order: Reverse"+strings.Join(more, "")+"}")
}

// WatchFront replaces "kind: App}" to select only parents with label tier=front.
const WatchFront = "kind: App, " + selectFront + "}"

const selectFront = "labelSelector: {matchLabels: {tier: front}}"

// FrontOnly returns a TemplateController that selects parents with label tier=front.
func FrontOnly(t *testing.T, manifest string) string {
	t.Helper()
	return WithWatch(t, manifest, selectFront)
}

// WithWatch returns a TemplateController with additional fields of spec.watch.
func WithWatch(t *testing.T, manifest, fields string) string {
	t.Helper()
	return memserver.With(t, manifest, "kind: App}", "kind: App, "+fields+"}")
}

// WithSpec returns a TemplateController with additional fields of spec, one per line.
func WithSpec(t *testing.T, manifest string, fields ...string) string {
	t.Helper()
	return memserver.With(t, manifest, "spec:\n", "spec:\n  "+strings.Join(fields, "\n  ")+"\n")
}

// WithTemplate returns a TemplateController such as Apps with additional fields of child template maps, one per line.
func WithTemplate(t *testing.T, manifest string, fields ...string) string {
	t.Helper()
	return memserver.With(t, manifest, "  - name: maps\n", "  - name: maps\n    "+strings.Join(fields, "\n    ")+"\n")
}

// WithStatus returns a TemplateController such as Apps with another status template.
func WithStatus(t *testing.T, manifest, template string) string {
	t.Helper()
	return memserver.With(t, manifest, "count: {{ len .children.maps }}", template)
}

// Invalid returns a TemplateController such as Apps with a child template that does not parse.
func Invalid(t *testing.T, manifest string) string {
	t.Helper()
	return memserver.With(t, manifest, "{{ range .spec.names }}", "{{ range .spec.names")
}

// WithStrategy returns Apps with an update strategy.
func WithStrategy(t *testing.T, strategy string) string {
	t.Helper()
	return WithTemplate(t, Apps, "updateStrategy: {type: "+strategy+"}")
}

// WithOtherTemplate returns a TemplateController with a child template OtherTemplate.
func WithOtherTemplate(t *testing.T, manifest string) string {
	t.Helper()
	return memserver.With(t, manifest, "  children:\n", "  children:\n  - name: "+OtherTemplate+"\n    scope: Cluster\n    template: \"\"\n")
}

// Jobs returns Apps with Jobs instead of ConfigMaps.
func Jobs(t *testing.T) string {
	t.Helper()
	return memserver.With(t, Apps, "apiVersion: v1\n      kind: ConfigMap", "apiVersion: batch/v1\n      kind: Job", "data: {text: {{ $.spec.text }}}", "spec: {}")
}

// ApplyAndSettle applies a TemplateController and the parent App, and settles.
func (c *Cluster) ApplyAndSettle(manifest string) {
	c.T.Helper()
	c.KubectlApply(manifest)
	c.KubectlApply(App)
	c.Settle()
}

// BlockDeletion adds finalizers to the children of App. They are deleted one after the other: a first.
func (c *Cluster) BlockDeletion() {
	c.T.Helper()
	for name, level := range map[string]string{"a": "1", "b": "0"} {
		c.KubectlEdit(ConfigMap(name), func(o *unstructured.Unstructured) {
			o.SetFinalizers([]string{"example.org/slow"})
			o.SetAnnotations(Plus(o.GetAnnotations(), v1.AnnotationOrder, level))
			c.Seal(o)
		})
	}
}

// StopMatching applies Apps with that watch, and a parent with the child a, which then stops matching. The parent is
// not reconciled afterwards.
func (c *Cluster) StopMatching(watched string) {
	c.T.Helper()
	c.KubectlApply(memserver.With(c.T, Apps, "kind: App}", watched))
	c.KubectlApply(memserver.With(c.T, App, "[a, b]", "[a]"))
	c.Run()
	c.Deliver()
	c.Run()
	c.KubectlApply(memserver.With(c.T, App, "[a, b]", "[a]", "tier: front", "tier: back"))
	Take(c.ParentQueue)
}
