package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// woken returns the parents in the queue, and removes them from it.
func (c *cluster) woken() []string {
	names := []string{}
	for c.ParentQueue.Len() > 0 {
		key, _ := c.ParentQueue.Get()
		names = append(names, key.Parent.Name)
		c.ParentQueue.Done(key)
	}
	slices.Sort(names)
	return names
}

func TestRelatedObjectChangesAreFollowed(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(readers)
	c.KubectlApply(reader("ns", "one", "{job: a}"))
	c.KubectlApply(job("ns", "a", "{}", "{note: x}"))
	c.KubectlApply(job("ns", "b", "{}", "{note: u}"))
	wantRequests(t, "first reconciliation", c.Run(), "create configmaps one", "status apps one")
	if got := c.JobsOf("one"); got != "a: x" {
		t.Errorf("the child says %q", got)
	}
	c.Deliver()
	wantRequests(t, "again", c.Run())
	for _, step := range []struct {
		what     string
		change   func()
		requests []string
		says     string
	}{
		{"another object changes", func() { c.KubectlApply(job("ns", "b", "{}", "{note: z}")) }, nil, "a: x"},
		{"it changes", func() { c.KubectlApply(job("ns", "a", "{}", "{note: z}")) }, []string{"update configmaps one", "status apps one"}, "a: z"},
		{"it goes", func() { c.RemoveNow(jobAt("ns", "a")) }, []string{"update configmaps one", "status apps one"}, ": "},
		{"it comes back", func() { c.KubectlApply(job("ns", "a", "{}", "{note: w}")) }, []string{"update configmaps one", "status apps one"}, "a: w"},
		{"the parent selects another one", func() { c.KubectlApply(reader("ns", "one", "{job: b}")) }, []string{"update configmaps one", "status apps one"}, "b: z"},
		{"the one before changes", func() { c.KubectlApply(job("ns", "a", "{}", "{note: v}")) }, nil, "b: z"},
	} {
		step.change()
		got := c.Run()
		// The status changes with the number of objects, and with the generation of the parent.
		if diff := cmp.Diff(len(step.requests) > 0, len(got) > 0); diff != "" || len(got) > len(step.requests) {
			t.Errorf("%s: requests %q, want at most %q", step.what, got, step.requests)
		}
		if got := c.JobsOf("one"); got != step.says {
			t.Errorf("%s: the child says %q, want %q", step.what, got, step.says)
		}
		c.Deliver()
		wantRequests(t, step.what+", again", c.Run())
		_, again := c.Reconcile("apps", "one")
		wantRequests(t, step.what+", one more reconciliation", again)
	}
	c.start()
	wantRequests(t, "a restart", c.Run())
}

// jobAt returns the location of a Job.
func jobAt(namespace, name string) request.Location {
	return request.Location{Resource: reconciletest.Kinds[reconciletest.BatchJob].Resource, Namespace: namespace, Name: name}
}

// TestOnlyParentsSelectingObjectAreReconciled changes one Job and checks the queue.
func TestOnlyParentsSelectingObjectAreReconciled(t *testing.T) {
	selects := map[string]string{ // by name of the parent
		"named": "name: a", "other": "name: b", "far": "{name: a, namespace: other}", "everywhere": "{name: a, allNamespaces: true}",
		"web": "labelSelector: {matchLabels: {app: web}}", "db": "labelSelector: {matchLabels: {app: db}}",
		"tiers": "labelSelector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}", "labeled": "labelSelector: {matchExpressions: [{key: app, operator: Exists}]}",
		"both": "labelSelector: {matchLabels: {app: web, tier: front}}", "bare": "labelSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}",
		"all": "allNamespaces: true", "here": "namespace: ns", "there": "namespace: other", "any": "labelSelector: {}",
		"list": "[{name: x}, {name: a}, {labelSelector: {matchLabels: {app: web}}}]", "none": "[]", "nothing": "",
	}
	c := newCluster(t)
	c.KubectlApply(with(t, readers, "name: {{ .spec.job }}", "{{ with .spec.select }}{{ toYaml . }}{{ end }}"))
	for name, text := range selects {
		if text == "" {
			c.KubectlApply(reader("ns", name, "{}"))
			continue
		}
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			text = "{" + text + "}"
		}
		c.KubectlApply(reader("ns", name, "{select: "+text+"}"))
	}
	c.Begin()
	always := []string{"all", "any", "everywhere", "here", "list", "named"}
	for _, step := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"it comes", func() { c.KubectlApply(job("ns", "a", "{}", "{}")) }, []string{"bare"}},
		{"it changes", func() { c.KubectlApply(job("ns", "a", "{}", "{note: x}")) }, []string{"bare"}},
		{"it gets a label", func() { c.KubectlApply(job("ns", "a", "{app: web}", "{note: x}")) }, []string{"bare", "labeled", "tiers", "web"}},
		{"it gets another one", func() { c.KubectlApply(job("ns", "a", "{app: db}", "{note: x}")) }, []string{"db", "labeled", "tiers", "web"}},
		{"it gets one more", func() { c.KubectlApply(job("ns", "a", "{app: web, tier: front}", "{note: x}")) }, []string{"both", "db", "labeled", "tiers", "web"}},
		{"it goes", func() { c.RemoveNow(jobAt("ns", "a")) }, []string{"both", "labeled", "tiers", "web"}},
	} {
		step.change()
		want := append(slices.Clone(always), step.want...)
		slices.Sort(want)
		if diff := cmp.Diff(want, c.woken()); diff != "" {
			t.Errorf("%s: looked at (-want +got):\n%s", step.what, diff)
		}
	}
	c.KubectlApply(job("other", "a", "{app: web}", "{}"))
	if diff := cmp.Diff([]string{"all", "everywhere", "far", "there"}, c.woken()); diff != "" {
		t.Errorf("in another namespace: looked at (-want +got):\n%s", diff)
	}
	for name := range selects {
		c.RemoveNow(locationOf(parse(t, reader("ns", name, "{}"))))
	}
	c.Run()
	c.KubectlApply(job("ns", "a", "{app: web}", "{}"))
	if got := c.woken(); len(got) > 0 {
		t.Errorf("looked at are %q, which are gone", got)
	}
}

func TestWatchFieldsFilterBeforeEnqueue(t *testing.T) {
	c := begun(t,
		with(t, readers, "    select: |\n      name: {{ .spec.job }}\n", "    watchFields: [spec.note, \"metadata.labels['example.org/tier']\"]\n    select: |\n      labelSelector: {matchLabels: {app: web}}\n"),
		reader("ns", "one", "{}"),
		job("ns", "a", "{app: web}", "{note: x, other: 1}"),
	)
	c.restless = true // the keys are removed from the queue
	for _, step := range []struct {
		what, labels, spec string
		woken              bool
	}{
		{"another field", "{app: web}", "{note: x, other: 2}", false},
		{"another label", "{app: web, more: y}", "{note: x, other: 2}", false},
		{"a watched label", "{app: web, example.org/tier: front}", "{note: x, other: 2}", true},
		{"the field", "{app: web, example.org/tier: front}", "{note: u, other: 2}", true},
		{"below the field", "{app: web, example.org/tier: front}", "{note: {a: 1}, other: 2}", true},
		{"the field goes", "{app: web, example.org/tier: front}", "{other: 2}", true},
		{"it is selected no more", "{example.org/tier: front}", "{other: 2}", true},
		{"it is not selected", "{example.org/tier: front}", "{note: z}", false},
		{"it is selected again", "{app: web, example.org/tier: front}", "{note: z}", true},
	} {
		c.KubectlApply(job("ns", "a", step.labels, step.spec))
		if got := len(c.woken()) > 0; got != step.woken {
			t.Errorf("%s: looked at is %v", step.what, got)
		}
	}
	other := parse(t, job("ns", "a", "{app: web, example.org/tier: front}", "{note: z}"))
	other.SetUID("uid-other")
	c.Store(jobAt("ns", "a"), other)
	c.Deliver()
	if len(c.woken()) == 0 {
		t.Error("another object of that name goes unseen")
	}
}

// TestRelatedWithoutSelectSeesWholeNamespace tests namespaced and cluster-scoped parents and related kinds.
func TestRelatedWithoutSelectSeesWholeNamespace(t *testing.T) {
	const selecting = "    select: |\n      name: {{ .spec.job }}\n"
	c := newCluster(t)
	c.KubectlApply(with(t, readers, selecting, ""))
	c.KubectlApply(reader("ns", "one", "{}"))
	for _, text := range []string{job("ns", "p-10", "{}", "{note: c}"), job("ns", "p-2", "{}", "{note: b}"), job("other", "a", "{}", "{note: a}")} {
		c.KubectlApply(text)
	}
	c.Run()
	if got := c.JobsOf("one"); got != "p-2,p-10: b,c" {
		t.Errorf("the child says %q", got)
	}
	c = newCluster(t)
	c.KubectlApply(with(t, readers, "kind: App}", "kind: Cluster}", selecting, "", "{name: {{ .metadata.name }}}", "{name: {{ .metadata.name }}, namespace: ns}", "kind: ConfigMap", "kind: Namespace", ", namespace: ns}", "-made}"))
	c.KubectlApply("{apiVersion: example.org/v1, kind: Cluster, metadata: {name: one}}")
	c.KubectlApply(job("other", "a", "{}", "{note: a}"))
	c.KubectlApply(job("ns", "a", "{}", "{note: b}"))
	c.Run()
	made := c.Find("namespaces", "one-made")
	if made == nil || fmt.Sprint(made.Object["data"]) != "map[jobs:a,a note:b,a]" {
		t.Errorf("a parent without a namespace: %v", made)
	}
	c = newCluster(t)
	c.KubectlApply(with(t, readers, selecting, "", "apiVersion: batch/v1", "apiVersion: v1", "kind: Job", "kind: Namespace"))
	c.KubectlApply("{apiVersion: v1, kind: Namespace, metadata: {name: x}, spec: {note: k}}")
	c.KubectlApply(reader("ns", "one", "{}"))
	c.Run()
	if got := c.JobsOf("one"); got != "x: k" {
		t.Errorf("a kind without namespaces: the child says %q", got)
	}
}

// TestInvalidSelectionsAreReported expects an error, and no changes.
func TestInvalidSelectionsAreReported(t *testing.T) {
	const selector = "labelSelector is not valid: use matchLabels or matchExpressions with valid label keys and values; operators are In, NotIn, Exists and DoesNotExist, the last two without values"
	for spec, want := range map[string]string{
		"{}":                       "it is empty: set at least one of name, namespace, allNamespaces and labelSelector",
		"{name: ''}":               "name is empty, which does not mean all: remove the key, or render no mapping",
		"{name: null}":             "name is not a string: quote it, or remove the key",
		"{name: 5}":                "name is not a string: quote it, or remove the key",
		"{name: a, namespace: ''}": "namespace is empty, which does not mean all: remove the key, or render no mapping",
		"{name: " + strings.Repeat("a", 254) + "}":                        "name is longer than 253 characters, the limit for a name",
		"{namespace: " + strings.Repeat("a", 254) + "}":                   "namespace is longer than 253 characters, the limit for a name",
		"{namespace: ns, allNamespaces: true}":                            "it has both namespace and allNamespaces: true: remove one of them",
		"{allNamespaces: 'true'}":                                         "allNamespaces must be true or false",
		"{s3cr3t: a}":                                                     "it has an unknown key; valid keys are name, namespace, allNamespaces and labelSelector",
		"{labelSelector: s3cr3t}":                                         "labelSelector is not a mapping",
		"{labelSelector: {app: s3cr3t}}":                                  selector,
		"{labelSelector: {matchLabels: {app: 's3 cr3t'}}}":                selector,
		"{labelSelector: {matchExpressions: [{key: a, operator: Like}]}}": selector,
		"{labelSelector: {matchExpressions: [{key: a, operator: In, values: [" + strings.Repeat("a,", 64) + "]}]}}": "labelSelector has more than 64 keys and values",
		"[{name: a}, {name: ''}]":                     "mapping 2: name is empty, which does not mean all: remove the key, or render no mapping",
		"[" + strings.Repeat("{name: a},", 257) + "]": "the output has 257 mappings; the limit is 256: select by namespace or by label",
	} {
		t.Run(spec, func(t *testing.T) {
			c := begun(t, with(t, readers, "name: {{ .spec.job }}", "{{ toYaml .spec.select }}"), reader("ns", "one", "{select: [{name: a}]}"), job("ns", "a", "{}", "{note: x}"))
			c.KubectlApply(reader("ns", "one", "{select: "+spec+"}"))
			wantRequests(t, spec, c.Run(), "status apps one")
			if got, want := c.Condition("apps", "one", "Ready"), "False TemplateError: related[jobs].select: "+want; got != want {
				t.Errorf("ready condition\n%s\nwant\n%s", got, want)
			}
			if got := c.JobsOf("one"); got != "a: x" {
				t.Errorf("the child says %q, want it left alone", got)
			}
			c.Deliver()
			wantRequests(t, spec+", again", c.Run())
		})
	}
	for _, row := range []struct{ from, to, want string }{
		{"kind: App}", "kind: Cluster}", "the parent has no namespace: set namespace, or allNamespaces: true"},
		{"apiVersion: batch/v1\n    kind: Job\n    select: |\n      name: {{ .spec.job }}", "apiVersion: v1\n    kind: Namespace\n    select: |\n      {name: a, namespace: ns}", "the kind is cluster-scoped: remove namespace"},
	} {
		c := newCluster(t)
		c.KubectlApply(with(t, readers, row.from, row.to))
		c.KubectlApply("{apiVersion: example.org/v1, kind: Cluster, metadata: {name: one}, spec: {job: a}}")
		c.KubectlApply(reader("ns", "one", "{job: a}"))
		c.Run()
		if got := strings.Join(c.Events, "\n"); !strings.HasSuffix(got, "related[jobs].select: "+row.want) {
			t.Errorf("Events %s, want %s", got, row.want)
		}
	}
}

func TestFailingSelectTemplateChangesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"name: {{ required \"spec.job is missing\" .spec.job }}":                     "False TemplateFailed: related[jobs].select:1:10: spec.job is missing",
		"name: {{ .spec.job }}":                                                      "False TemplateError: related[jobs].select:1:10: .spec.job has no value; set it, or use default, required or if",
		"{{ if not .spec.job }}{{ wait \"a job is to be chosen\" }}{{ end }}name: a": "False Waiting: a job is to be chosen",
	} {
		t.Run(text, func(t *testing.T) {
			c := begun(t, with(t, readers, "name: {{ .spec.job }}", text), reader("ns", "one", "{job: a}"), job("ns", "a", "{}", "{note: x}"))
			c.KubectlApply(reader("ns", "one", "{other: x}"))
			wantRequests(t, text, c.Run(), "status apps one")
			if got := c.Condition("apps", "one", "Ready"); got != want {
				t.Errorf("ready condition %q, want %q", got, want)
			}
			if got := c.JobsOf("one"); got != "a: x" {
				t.Errorf("the child says %q, want it left alone", got)
			}
			if got := fmt.Sprint(c.Find("apps", "one").Object["status"].(map[string]any)["jobs"]); got != "1" {
				t.Errorf("status.jobs is %s, want what it was", got)
			}
		})
	}
}

// TestFailedInitialListIsNotEmptyList restarts templater while the API server cannot list the related objects that a child was created from.
func TestFailedInitialListIsNotEmptyList(t *testing.T) {
	c := begun(t, with(t, readers, "    kind: Job\n", "    kind: Job\n    optional: true\n"), reader("ns", "one", "{job: a}"), job("ns", "a", "{}", "{note: x}"))
	c.start()
	c.Silent[relatedJobs] = true
	c.RunControllers()
	c.Caches[relatedJobs].Fail(errors.New("no answer"))
	for _, request := range c.Run() {
		if strings.Contains(request, "configmaps") {
			t.Errorf("while nobody knows which Jobs there are: %s", request)
		}
	}
	if got := c.JobsOf("one"); got != "a: x" {
		t.Errorf("the child says %q", got)
	}
	c.Deliver()
	wantRequests(t, "again", c.Run())
	c.Caches[relatedJobs].Fail(reconciletest.ErrForbidden)
	c.Run()
	if got := c.JobsOf("one"); got != ": " {
		t.Errorf("once the server says that they may not be read, the child says %q", got)
	}
}

// TestUnknownRelatedObjectsPreventPruning breaks the watch of Jobs. There is a child for each Job.
func TestUnknownRelatedObjectsPreventPruning(t *testing.T) {
	perJob := with(t, readers, "    select: |\n      name: {{ .spec.job }}\n", "", "      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ .metadata.name }}}\n", "      {{ range .related.jobs }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ .metadata.name }}}\n      {{ end }}\n",
		"      data:\n        jobs: {{ .related.jobs | collect \"metadata.name\" | join \",\" }}\n        note: {{ .related.jobs | collect \"spec.note\" | join \",\" }}\n", "")
	for _, optional := range []bool{false, true} {
		t.Run(fmt.Sprint("optional ", optional), func(t *testing.T) {
			begin := func() *cluster {
				c := newCluster(t)
				c.KubectlApply(with(t, perJob, "    kind: Job\n", fmt.Sprintf("    kind: Job\n    optional: %v\n", optional)))
				c.KubectlApply(reader("ns", "one", "{}"))
				c.KubectlApply(job("ns", "a", "{}", "{}"))
				c.KubectlApply(job("ns", "b", "{}", "{}"))
				wantRequests(t, "first reconciliation", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
				c.Deliver()
				c.Run()
				return c
			}
			c := begin()
			c.RemoveNow(jobAt("ns", "b"))
			wantRequests(t, "a Job goes", c.Run(), "delete configmaps b", "status apps one")

			c = begin()
			c.Caches[relatedJobs].Fail(errors.New("no answer"))
			c.RemoveNow(jobAt("ns", "b"))
			c.KubectlApply(job("ns", "c", "{}", "{}"))
			wantRequests(t, "the watch has failed", c.Run(), "create configmaps c")
			reconciletest.Resume(t, c.Caches[relatedJobs])
			wantRequests(t, "it goes on", c.Run(), "delete configmaps b")

			c = begin()
			c.start()
			c.Silent[relatedJobs] = true
			wantRequests(t, "the Jobs are still being read", c.Run())
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, "a reconciliation meanwhile", requests)
			delete(c.Silent, relatedJobs)
			c.List(relatedJobs)
			wantRequests(t, "they are read", c.Run())

			c = begin()
			c.start()
			c.Silent[relatedJobs] = true
			c.RunControllers()
			c.Caches[relatedJobs].Fail(reconciletest.ErrForbidden)
			for _, request := range c.Run() {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("optional is %v, and they may not be read: %s", optional, request)
				}
			}

			c = begin() // the kind is served, in some version
			c.Refuse["kind Job"] = &kind.NotFoundError{GVK: reconciletest.BatchJob.WithVersion("v1"), Served: "v2"}
			c.controllers.kindChanged(reconciletest.BatchJob)
			for _, request := range c.Run() {
				if strings.HasPrefix(request, "delete") {
					t.Errorf("optional is %v, and the version is not served: %s", optional, request)
				}
			}

			c = begin()
			c.Refuse["kind Job"] = &kind.NotFoundError{GVK: reconciletest.BatchJob.WithVersion("v1")}
			c.controllers.kindChanged(reconciletest.BatchJob)
			want := []string{"status apps one"}
			if optional { // no Job can exist
				want = []string{"delete configmaps a", "delete configmaps b", "status apps one"}
			}
			wantRequests(t, fmt.Sprintf("the kind is gone, optional is %v", optional), c.Run(), want...)
		})
	}
}

// TestParentsCanBeRelatedObjects sums values of other parents and of the parent itself.
func TestParentsCanBeRelatedObjects(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - {name: peers, apiVersion: example.org/v1, kind: App}
  - {name: maps, apiVersion: v1, kind: ConfigMap}
  children:
  - name: maps
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ .metadata.name }}}
      data: {sum: {{ .related.peers | collect "spec.size" | join "+" }}}
  status:
    template: |
      maps: {{ .related.maps | collect "data.sum" | join " " | quote }}
`)
	c.KubectlApply(reader("ns", "one", "{size: '1'}"))
	c.KubectlApply(reader("ns", "two", "{size: '2'}"))
	c.Settle()
	for _, name := range []string{"one", "two"} {
		if got := c.Find("apps", name).Object["status"].(map[string]any)["maps"]; got != "1+2 1+2" {
			t.Errorf("%s: status.maps is %q", name, got)
		}
	}
	c.KubectlApply(reader("ns", "two", "{size: '3'}"))
	c.Settle()
	for _, name := range []string{"one", "two"} {
		if got := c.Find("apps", name).Object["status"].(map[string]any)["maps"]; got != "1+3 1+3" {
			t.Errorf("%s: status.maps is %q", name, got)
		}
		_, again := c.Reconcile("apps", name)
		wantRequests(t, name+", again", again)
	}
}

// TestNamespacesOfRelatedObjects selects namespaces by name and label.
func TestNamespacesOfRelatedObjects(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, readers, "    kind: Job\n", "    kind: Job\n    namespaces: [a, b, c]\n    namespaceSelector: {matchLabels: {shared: 'yes'}}\n", "name: {{ .spec.job }}", "allNamespaces: true"))
	c.KubectlApply(reader("ns", "one", "{}"))
	for ns, shared := range map[string]string{"a": "yes", "b": "no", "d": "yes"} {
		c.KubectlApply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {shared: '%s'}}}", ns, shared))
		c.KubectlApply(job(ns, "in-"+ns, "{}", "{note: x}"))
	}
	c.Begin()
	for _, step := range []struct {
		what, ns, shared string
		woken            bool
		says             string
	}{
		{"nothing changes", "b", "no", false, "in-a: x"},
		{"one is selected", "b", "yes", true, "in-a,in-b: x,x"},
		{"one is selected no more", "a", "no", true, "in-b: x"},
		{"one that is not watched", "d", "no", false, "in-b: x"},
	} {
		c.KubectlApply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {shared: '%s'}}}", step.ns, step.shared))
		if got := c.ParentQueue.Len() > 0; got != step.woken {
			t.Errorf("%s: looked at is %v", step.what, got)
		}
		c.Run()
		c.Deliver()
		c.Run()
		if got := c.JobsOf("one"); got != step.says {
			t.Errorf("%s: the child says %q, want %q", step.what, got, step.says)
		}
	}
	c.KubectlApply(job("a", "in-a", "{}", "{note: u}"))
	if got := c.woken(); len(got) > 0 {
		t.Errorf("looked at is %q, for what it does not see", got)
	}
	c.RemoveNow(request.Location{Resource: reconciletest.Kinds[schema.GroupKind{Kind: "Namespace"}].Resource, Name: "b"})
	wantRequests(t, "the namespace goes", c.Run(), "update configmaps one", "status apps one")
}

// TestRelatedSpecChangeIsFollowed checks that parents read what the new related entry selects, and are not reconciled for other objects.
func TestRelatedSpecChangeIsFollowed(t *testing.T) {
	c := begun(t, readers, reader("ns", "one", "{job: a}"), job("ns", "a", "{}", "{note: x}"), job("ns", "b", "{}", "{note: u}"))
	c.KubectlApply(with(t, readers, "name: {{ .spec.job }}", "name: b"))
	c.Run()
	if got := c.JobsOf("one"); got != "b: u" {
		t.Errorf("the child says %q", got)
	}
	c.Deliver()
	c.Run()
	c.KubectlApply(job("ns", "a", "{}", "{note: z}"))
	if got := c.woken(); len(got) > 0 {
		t.Errorf("looked at is %q, for what it saw before the edit", got)
	}
	c.KubectlApply(with(t, readers, "    select: |\n      name: {{ .spec.job }}\n", "    fieldSelector: metadata.name=a\n"))
	c.Run()
	if got := c.JobsOf("one"); got != "a: z" {
		t.Errorf("the child says %q", got)
	}
	if slices.Contains(c.Owned["apps"], relatedJobs) {
		t.Error("what nobody reads is watched still")
	}
}

// TestSingleChangeReconcilesAffectedParentOnly expects one reconciliation for one change.
func TestSingleChangeReconcilesAffectedParentOnly(t *testing.T) {
	const many = 300
	c := newCluster(t)
	c.KubectlApply(readers)
	for i := range many {
		c.KubectlApply(job("ns", fmt.Sprint("j", i), "{}", "{note: x}"))
		c.KubectlApply(reader("ns", fmt.Sprint("p", i), fmt.Sprintf("{job: j%d}", i)))
	}
	c.Settle()
	before := len(c.Requests)
	c.KubectlApply(job("ns", "j7", "{}", "{note: u}"))
	if diff := cmp.Diff([]queue.Key{{Controller: "apps", Parent: configMapName("p7")}}, c.queued()); diff != "" {
		t.Errorf("looked at (-want +got):\n%s", diff)
	}
	wantRequests(t, "one change", c.Requests[before:])
	wantRequests(t, "its reconciliation", c.Run(), "update configmaps p7")
}

// queued returns the keys in the queue, and leaves them there.
func (c *cluster) queued() []queue.Key {
	var keys []queue.Key
	for c.ParentQueue.Len() > 0 {
		key, _ := c.ParentQueue.Get()
		keys = append(keys, key)
		c.ParentQueue.Done(key)
	}
	for _, key := range keys {
		c.ParentQueue.Add(key)
	}
	return keys
}
