package controllers

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// under returns the TemplateController with that update strategy.
func under(t *testing.T, strategy string) string {
	t.Helper()
	const template = "    template: |\n      {{ range"
	return with(t, apps, template, "    updateStrategy: {type: "+strategy+"}\n"+template)
}

// hide takes all labels off a child.
func (c *cluster) hide(name string) {
	o := c.get("configmaps", name).DeepCopy()
	o.SetLabels(nil)
	c.Store(configMap(name), o)
	c.deliver()
}

// How many may leave in a second, and at once: as package queue has it.
const departureBurst = 20

// front selects some parents.
const front = "kind: App, labelSelector: {matchLabels: {tier: front}}}"

// withEntry returns apps with these lines in its entry of spec.children.
func withEntry(t *testing.T, manifest string, lines ...string) string {
	t.Helper()
	const template = "    template: |\n      {{ range"
	return with(t, manifest, template, "    "+strings.Join(append(lines, "template: |"), "\n    ")+"\n      {{ range")
}

func plus(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// shop has a Job db, a ConfigMap web that waits for it because its template reads it, and a ConfigMap page that waits for web.
const shop = `
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

const shopApp = "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one}, spec: {text: hello, db: one}}"

// wantReady compares the ready condition of the parent.
func (c *cluster) wantReady(want string) {
	c.t.Helper()
	if got := c.condition("apps", "one", "Ready"); got != want {
		c.t.Errorf("ready condition\n%s, want\n%s", got, want)
	}
}

// jobs makes a Job for each of spec.names.
func jobs(t *testing.T) string {
	t.Helper()
	return with(t, apps, "apiVersion: v1\n      kind: ConfigMap", "apiVersion: batch/v1\n      kind: Job", "data: {text: {{ $.spec.text }}}", "spec: {}")
}

// report has the server say how a Job fares.
func (c *cluster) report(name, status string) {
	c.t.Helper()
	o := c.get("jobs", name).DeepCopy()
	o.Object["status"] = parse(c.t, "{kind: x, apiVersion: v1, status: "+status+"}").Object["status"]
	c.Store(locationOf(o), o)
	c.deliver()
}

func (c *cluster) parentCounts() string {
	c.t.Helper()
	c.controllers.queue.Add("apps")
	c.runControllers()
	n, _, _ := unstructured.NestedMap(c.get("templatecontrollers", "apps").Object, "status", "parents")
	return fmt.Sprint("total ", n["total"], ", ready ", n["ready"], ", failed ", n["failed"])
}

const notAccepted = "TemplateControllerNotAccepted: TemplateController apps is not accepted, so this object is not reconciled: see the conditions of the TemplateController"
