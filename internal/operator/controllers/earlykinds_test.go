package controllers

import (
	"strings"
	"testing"
)

// withOptionalJob returns apps with a second child template, which renders a Job if the parent wants it.
func withOptionalJob(t *testing.T) string {
	t.Helper()
	return with(t, apps, "  status:\n", `  - name: job
    template: |
      {{ if .spec.job }}
      {apiVersion: batch/v1, kind: Job, metadata: {name: {{ .metadata.name }}}}
      {{ end }}
  status:
`)
}

func TestNamedKindsAreWatchedBeforeFirstParent(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withOptionalJob(t))
	c.Settle()
	c.expectKinds("without parents", "; configmaps jobs")
	c.KubectlApply(app)
	wantRequests(t, "the first parent", c.Settle(), "create configmaps a", "create configmaps b", "status apps one")
	c.expectKinds("after the first parent, which needs no Job", "ConfigMap; configmaps")
	c.expectReady("after the first parent", isReady)
	wantRequests(t, "another time", c.Settle())
}

func TestMissingPermissionForEarlyWatchIsNotReported(t *testing.T) {
	c := newCluster(t)
	c.Silent[jobsWatch] = true
	c.KubectlApply(withOptionalJob(t))
	c.settleDenied(jobsWatch)
	c.expectReady("while no parent needs a Job", isReady)
	c.KubectlApply(app)
	c.Settle()
	c.expectKinds("after a parent that needs no Job", "ConfigMap; configmaps")
	c.expectReady("after a parent that needs no Job", isReady)
	c.KubectlApply(with(t, app, "name: one", "name: two", "spec: {", "spec: {job: true, "))
	c.Settle()
	c.expectReady("after a parent that needs a Job", "False Forbidden: templater is not allowed to create, delete, get, list, patch and watch jobs.batch in all namespaces: add {apiGroups: [batch], resources: [jobs], verbs: [create, delete, get, list, patch, watch]} to a ClusterRole labeled rbac.templater.dev/aggregate-to-templater: \"true\"; children are kept until this is resolved")
}

func TestNoEarlyWatches(t *testing.T) {
	for why, row := range map[string]struct {
		edit func(text string) string
		want string
	}{
		"the API server does not serve the kind": {func(text string) string { return strings.ReplaceAll(text, "kind: Job", "kind: Unserved") }, "; configmaps"},
		"the TemplateController is suspended":    {func(text string) string { return with(t, text, "spec:\n", "spec:\n  suspend: true\n") }, "; "},
		"the spec is rejected": {func(text string) string {
			return with(t, text, "kind: App}", "kind: App, labelSelector: {matchLabels: {a: '-'}}}")
		}, "; "},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(row.edit(withOptionalJob(t)))
			c.Settle()
			c.expectKinds(why, row.want)
		})
	}
}

func TestEarlyWatchesExceedingLimitAreLeftOut(t *testing.T) {
	c := newCluster(t)
	c.controllers.watchShares.Most = 2
	c.KubectlApply(withOptionalJob(t))
	c.Settle()
	c.expectKinds("with a limit of two watches", "; configmaps")
	c.expectReady("with a limit of two watches", isReady)
}
