package reconcile_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// readers makes a ConfigMap for each App, which lists the Jobs that the App selects.
const readers = `
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

// reader is an App in a namespace, with this spec.
func reader(namespace, name, spec string) string {
	return fmt.Sprintf("{apiVersion: example.org/v1, kind: App, metadata: {namespace: %s, name: %s}, spec: %s}", namespace, name, spec)
}

// job is a Job with these labels and this spec.
func job(namespace, name, labels, spec string) string {
	return fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, name: %s, labels: %s}, spec: %s}", namespace, name, labels, spec)
}

// jobsOf returns what the ConfigMap of a parent says.
func (c *cluster) jobsOf(name string) string {
	o := c.get("configmaps", name)
	if o == nil {
		return "no ConfigMap"
	}
	data, _ := o.Object["data"].(map[string]any)
	return fmt.Sprintf("%v: %v", data["jobs"], data["note"])
}

// woken returns the parents that are to be looked at, and takes them out of the queue.
func (c *cluster) woken() []string {
	names := []string{}
	for c.parentsDue.Len() > 0 {
		key, _ := c.parentsDue.Get()
		names = append(names, key.Parent.Name)
		c.parentsDue.Done(key)
	}
	slices.Sort(names)
	return names
}

// relatedJobs is what is watched of Jobs in all namespaces.
var relatedJobs = watch.Want{Resource: fakeKinds[batchJob].Resource, Role: watch.Related}

func TestRelatedObjectsAreReadAndFollowed(t *testing.T) {
	c := newCluster(t)
	c.apply(readers)
	c.apply(reader("ns", "one", "{job: a}"))
	c.apply(job("ns", "a", "{}", "{note: x}"))
	c.apply(job("ns", "b", "{}", "{note: u}"))
	wantRequests(t, "first pass", c.run(), "create configmaps one", "status apps one")
	if got := c.jobsOf("one"); got != "a: x" {
		t.Errorf("the child says %q", got)
	}
	c.deliver()
	wantRequests(t, "again", c.run())
	for _, step := range []struct {
		what     string
		change   func()
		requests []string
		says     string
	}{
		{"another object changes", func() { c.apply(job("ns", "b", "{}", "{note: z}")) }, nil, "a: x"},
		{"it changes", func() { c.apply(job("ns", "a", "{}", "{note: z}")) }, []string{"update configmaps one", "status apps one"}, "a: z"},
		{"it goes", func() { c.gone(jobAt("ns", "a")) }, []string{"update configmaps one", "status apps one"}, ": "},
		{"it comes back", func() { c.apply(job("ns", "a", "{}", "{note: w}")) }, []string{"update configmaps one", "status apps one"}, "a: w"},
		{"the parent selects another one", func() { c.apply(reader("ns", "one", "{job: b}")) }, []string{"update configmaps one", "status apps one"}, "b: z"},
		{"the one before changes", func() { c.apply(job("ns", "a", "{}", "{note: v}")) }, nil, "b: z"},
	} {
		step.change()
		got := c.run()
		// The status changes with the number of objects, and with the generation of the parent.
		if diff := cmp.Diff(len(step.requests) > 0, len(got) > 0); diff != "" || len(got) > len(step.requests) {
			t.Errorf("%s: requests %q, want at most %q", step.what, got, step.requests)
		}
		if got := c.jobsOf("one"); got != step.says {
			t.Errorf("%s: the child says %q, want %q", step.what, got, step.says)
		}
		c.deliver()
		wantRequests(t, step.what+", again", c.run())
		_, again := c.pass("apps", "one")
		wantRequests(t, step.what+", one more pass", again)
	}
	c.start()
	wantRequests(t, "a restart", c.run())
}

// batchJob is the kind of the related objects.
var batchJob = schema.GroupKind{Group: "batch", Kind: "Job"}

// jobAt is where a Job is.
func jobAt(namespace, name string) request.Location {
	return request.Location{Resource: fakeKinds[batchJob].Resource, Namespace: namespace, Name: name}
}

// TestExactlyThoseAreLookedAtThatSeeAnObject changes one Job and looks into the queue.
func TestExactlyThoseAreLookedAtThatSeeAnObject(t *testing.T) {
	selects := map[string]string{ // by the name of the parent
		"named": "name: a", "other": "name: b", "far": "{name: a, namespace: other}", "everywhere": "{name: a, allNamespaces: true}",
		"web": "labelSelector: {matchLabels: {app: web}}", "db": "labelSelector: {matchLabels: {app: db}}",
		"tiers": "labelSelector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}", "labelled": "labelSelector: {matchExpressions: [{key: app, operator: Exists}]}",
		"both": "labelSelector: {matchLabels: {app: web, tier: front}}", "bare": "labelSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}",
		"all": "allNamespaces: true", "here": "namespace: ns", "there": "namespace: other", "any": "labelSelector: {}",
		"list": "[{name: x}, {name: a}, {labelSelector: {matchLabels: {app: web}}}]", "none": "[]", "nothing": "",
	}
	c := newCluster(t)
	c.apply(with(t, readers, "name: {{ .spec.job }}", "{{ with .spec.select }}{{ toYaml . }}{{ end }}"))
	for name, text := range selects {
		if text == "" {
			c.apply(reader("ns", name, "{}"))
			continue
		}
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			text = "{" + text + "}"
		}
		c.apply(reader("ns", name, "{select: "+text+"}"))
	}
	c.begin()
	always := []string{"all", "any", "everywhere", "here", "list", "named"}
	for _, step := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"it comes", func() { c.apply(job("ns", "a", "{}", "{}")) }, []string{"bare"}},
		{"it changes", func() { c.apply(job("ns", "a", "{}", "{note: x}")) }, []string{"bare"}},
		{"it gets a label", func() { c.apply(job("ns", "a", "{app: web}", "{note: x}")) }, []string{"bare", "labelled", "tiers", "web"}},
		{"it gets another one", func() { c.apply(job("ns", "a", "{app: db}", "{note: x}")) }, []string{"db", "labelled", "tiers", "web"}},
		{"it gets one more", func() { c.apply(job("ns", "a", "{app: web, tier: front}", "{note: x}")) }, []string{"both", "db", "labelled", "tiers", "web"}},
		{"it goes", func() { c.gone(jobAt("ns", "a")) }, []string{"both", "labelled", "tiers", "web"}},
	} {
		step.change()
		want := append(slices.Clone(always), step.want...)
		slices.Sort(want)
		if diff := cmp.Diff(want, c.woken()); diff != "" {
			t.Errorf("%s: looked at (-want +got):\n%s", step.what, diff)
		}
	}
	c.apply(job("other", "a", "{app: web}", "{}"))
	if diff := cmp.Diff([]string{"all", "everywhere", "far", "there"}, c.woken()); diff != "" {
		t.Errorf("in another namespace: looked at (-want +got):\n%s", diff)
	}
	for name := range selects {
		c.gone(locationOf(parse(t, reader("ns", name, "{}"))))
	}
	c.run()
	c.apply(job("ns", "a", "{app: web}", "{}"))
	if got := c.woken(); len(got) > 0 {
		t.Errorf("looked at are %q, which are gone", got)
	}
}

func TestWatchFieldsFilterBeforeTheQueue(t *testing.T) {
	c := begun(t,
		with(t, readers, "    select: |\n      name: {{ .spec.job }}\n", "    watchFields: [spec.note, \"metadata.labels['example.org/tier']\"]\n    select: |\n      labelSelector: {matchLabels: {app: web}}\n"),
		reader("ns", "one", "{}"),
		job("ns", "a", "{app: web}", "{note: x, other: 1}"),
	)
	c.restless = true // the keys are taken from the queue
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
		c.apply(job("ns", "a", step.labels, step.spec))
		if got := len(c.woken()) > 0; got != step.woken {
			t.Errorf("%s: looked at is %v", step.what, got)
		}
	}
	other := parse(t, job("ns", "a", "{app: web, example.org/tier: front}", "{note: z}"))
	other.SetUID("uid-other")
	c.Store(jobAt("ns", "a"), other)
	c.deliver()
	if len(c.woken()) == 0 {
		t.Error("another object of that name goes unseen")
	}
}

// TestWithoutASelectAllOfTheNamespaceIsSeen has parents with and without a namespace, and kinds likewise.
func TestWithoutASelectAllOfTheNamespaceIsSeen(t *testing.T) {
	const selecting = "    select: |\n      name: {{ .spec.job }}\n"
	c := newCluster(t)
	c.apply(with(t, readers, selecting, ""))
	c.apply(reader("ns", "one", "{}"))
	for _, text := range []string{job("ns", "p-10", "{}", "{note: c}"), job("ns", "p-2", "{}", "{note: b}"), job("other", "a", "{}", "{note: a}")} {
		c.apply(text)
	}
	c.run()
	if got := c.jobsOf("one"); got != "p-2,p-10: b,c" {
		t.Errorf("the child says %q", got)
	}
	c = newCluster(t)
	c.apply(with(t, readers, "kind: App}", "kind: Cluster}", selecting, "", "{name: {{ .metadata.name }}}", "{name: {{ .metadata.name }}, namespace: ns}", "kind: ConfigMap", "kind: Namespace", ", namespace: ns}", "-made}"))
	c.apply("{apiVersion: example.org/v1, kind: Cluster, metadata: {name: one}}")
	c.apply(job("other", "a", "{}", "{note: a}"))
	c.apply(job("ns", "a", "{}", "{note: b}"))
	c.run()
	made := c.get("namespaces", "one-made")
	if made == nil || fmt.Sprint(made.Object["data"]) != "map[jobs:a,a note:b,a]" {
		t.Errorf("a parent without a namespace: %v", made)
	}
	c = newCluster(t)
	c.apply(with(t, readers, selecting, "", "apiVersion: batch/v1", "apiVersion: v1", "kind: Job", "kind: Namespace"))
	c.apply("{apiVersion: v1, kind: Namespace, metadata: {name: x}, spec: {note: k}}")
	c.apply(reader("ns", "one", "{}"))
	c.run()
	if got := c.jobsOf("one"); got != "x: k" {
		t.Errorf("a kind without namespaces: the child says %q", got)
	}
}

// TestSelectionsThatMakeNoSense tells what is wrong, and leaves everything as it is.
func TestSelectionsThatMakeNoSense(t *testing.T) {
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
		"[" + strings.Repeat("{name: a},", 257) + "]": "the output has 257 mappings, the limit is 256: select by namespace or by label",
	} {
		t.Run(spec, func(t *testing.T) {
			c := begun(t, with(t, readers, "name: {{ .spec.job }}", "{{ toYaml .spec.select }}"), reader("ns", "one", "{select: [{name: a}]}"), job("ns", "a", "{}", "{note: x}"))
			c.apply(reader("ns", "one", "{select: "+spec+"}"))
			wantRequests(t, spec, c.run(), "status apps one")
			if got, want := c.condition("apps", "one", "Ready"), "False TemplateError: related[jobs].select: "+want; got != want {
				t.Errorf("ready condition\n%s\nwant\n%s", got, want)
			}
			if got := c.jobsOf("one"); got != "a: x" {
				t.Errorf("the child says %q, want it left alone", got)
			}
			c.deliver()
			wantRequests(t, spec+", again", c.run())
		})
	}
	for _, row := range []struct{ from, to, want string }{
		{"kind: App}", "kind: Cluster}", "the parent has no namespace: set namespace, or allNamespaces: true"},
		{"apiVersion: batch/v1\n    kind: Job\n    select: |\n      name: {{ .spec.job }}", "apiVersion: v1\n    kind: Namespace\n    select: |\n      {name: a, namespace: ns}", "the kind is cluster-scoped: remove namespace"},
	} {
		c := newCluster(t)
		c.apply(with(t, readers, row.from, row.to))
		c.apply("{apiVersion: example.org/v1, kind: Cluster, metadata: {name: one}, spec: {job: a}}")
		c.apply(reader("ns", "one", "{job: a}"))
		c.run()
		if got := strings.Join(c.events, "\n"); !strings.HasSuffix(got, "related[jobs].select: "+row.want) {
			t.Errorf("Events %s, want %s", got, row.want)
		}
	}
}

func TestFailingSelectTemplateLeavesAllAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"name: {{ required \"spec.job is missing\" .spec.job }}":                     "False TemplateFailed: related[jobs].select:1:10: spec.job is missing",
		"name: {{ .spec.job }}":                                                      "False TemplateError: related[jobs].select:1:10: .spec.job has no value; set it, or use default, required or if",
		"{{ if not .spec.job }}{{ wait \"a job is to be chosen\" }}{{ end }}name: a": "False Waiting: a job is to be chosen",
	} {
		t.Run(text, func(t *testing.T) {
			c := begun(t, with(t, readers, "name: {{ .spec.job }}", text), reader("ns", "one", "{job: a}"), job("ns", "a", "{}", "{note: x}"))
			c.apply(reader("ns", "one", "{other: x}"))
			wantRequests(t, text, c.run(), "status apps one")
			if got := c.condition("apps", "one", "Ready"); got != want {
				t.Errorf("ready condition %q, want %q", got, want)
			}
			if got := c.jobsOf("one"); got != "a: x" {
				t.Errorf("the child says %q, want it left alone", got)
			}
			if got := fmt.Sprint(c.get("apps", "one").Object["status"].(map[string]any)["jobs"]); got != "1" {
				t.Errorf("status.jobs is %s, want what it was", got)
			}
		})
	}
}

var forbidden = answer(http.StatusForbidden, metav1.StatusReasonForbidden, `jobs.batch is forbidden: User "system:serviceaccount:templater-system:templater" cannot list resource "jobs" in API group "batch" at the cluster scope`)

// TestAFailingFirstListIsNotAnEmptyOne starts templater anew while the server does not list what a child was made of.
func TestAFailingFirstListIsNotAnEmptyOne(t *testing.T) {
	c := begun(t, with(t, readers, "    kind: Job\n", "    kind: Job\n    optional: true\n"), reader("ns", "one", "{job: a}"), job("ns", "a", "{}", "{note: x}"))
	c.start()
	c.silent[relatedJobs] = true
	c.runControllers()
	c.caches[relatedJobs].Fail(errors.New("no answer"))
	for _, request := range c.run() {
		if strings.Contains(request, "configmaps") {
			t.Errorf("while nobody knows which Jobs there are: %s", request)
		}
	}
	if got := c.jobsOf("one"); got != "a: x" {
		t.Errorf("the child says %q", got)
	}
	c.deliver()
	wantRequests(t, "again", c.run())
	c.caches[relatedJobs].Fail(forbidden)
	c.run()
	if got := c.jobsOf("one"); got != ": " {
		t.Errorf("once the server says that they may not be read, the child says %q", got)
	}
}

// TestNothingIsPrunedForWhatIsNotKnown loses the watch of Jobs, of which each has a child.
func TestNothingIsPrunedForWhatIsNotKnown(t *testing.T) {
	perJob := with(t, readers, "    select: |\n      name: {{ .spec.job }}\n", "", "      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ .metadata.name }}}\n", "      {{ range .related.jobs }}\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: {{ .metadata.name }}}\n      {{ end }}\n",
		"      data:\n        jobs: {{ .related.jobs | collect \"metadata.name\" | join \",\" }}\n        note: {{ .related.jobs | collect \"spec.note\" | join \",\" }}\n", "")
	for _, optional := range []bool{false, true} {
		begin := func() *cluster {
			c := newCluster(t)
			c.apply(with(t, perJob, "    kind: Job\n", fmt.Sprintf("    kind: Job\n    optional: %v\n", optional)))
			c.apply(reader("ns", "one", "{}"))
			c.apply(job("ns", "a", "{}", "{}"))
			c.apply(job("ns", "b", "{}", "{}"))
			wantRequests(t, "first pass", c.run(), "create configmaps a", "create configmaps b", "status apps one")
			c.deliver()
			c.run()
			return c
		}
		c := begin()
		c.gone(jobAt("ns", "b"))
		wantRequests(t, "a Job goes", c.run(), "delete configmaps b", "status apps one")

		c = begin()
		c.caches[relatedJobs].Fail(errors.New("no answer"))
		c.gone(jobAt("ns", "b"))
		c.apply(job("ns", "c", "{}", "{}"))
		wantRequests(t, "the watch has failed", c.run(), "create configmaps c")
		resumed(t, c.caches[relatedJobs])
		wantRequests(t, "it goes on", c.run(), "delete configmaps b")

		c = begin()
		c.start()
		c.silent[relatedJobs] = true
		wantRequests(t, "the Jobs are still being read", c.run())
		_, requests := c.pass("apps", "one")
		wantRequests(t, "a pass meanwhile", requests)
		delete(c.silent, relatedJobs)
		c.sync(relatedJobs)
		wantRequests(t, "they are read", c.run())

		c = begin()
		c.start()
		c.silent[relatedJobs] = true
		c.runControllers()
		c.caches[relatedJobs].Fail(forbidden)
		for _, request := range c.run() {
			if strings.HasPrefix(request, "delete") {
				t.Errorf("optional is %v, and they may not be read: %s", optional, request)
			}
		}

		c = begin() // the kind is there, in some version
		c.refuse["kind Job"] = &kind.NotFoundError{GVK: batchJob.WithVersion("v1"), Served: "v2"}
		c.controllers.kindChanged(batchJob)
		for _, request := range c.run() {
			if strings.HasPrefix(request, "delete") {
				t.Errorf("optional is %v, and the version is not served: %s", optional, request)
			}
		}

		c = begin()
		c.refuse["kind Job"] = &kind.NotFoundError{GVK: batchJob.WithVersion("v1")}
		c.controllers.kindChanged(batchJob)
		want := []string{"status apps one"}
		if optional { // there can be no Job
			want = []string{"delete configmaps a", "delete configmaps b", "status apps one"}
		}
		wantRequests(t, fmt.Sprintf("the kind is gone, optional is %v", optional), c.run(), want...)
	}
}

// TestParentsAreRelatedToParents adds up what others have, and themselves.
func TestParentsAreRelatedToParents(t *testing.T) {
	c := newCluster(t)
	c.apply(`
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
	c.apply(reader("ns", "one", "{size: '1'}"))
	c.apply(reader("ns", "two", "{size: '2'}"))
	c.settle()
	for _, name := range []string{"one", "two"} {
		if got := c.get("apps", name).Object["status"].(map[string]any)["maps"]; got != "1+2 1+2" {
			t.Errorf("%s: status.maps is %q", name, got)
		}
	}
	c.apply(reader("ns", "two", "{size: '3'}"))
	c.settle()
	for _, name := range []string{"one", "two"} {
		if got := c.get("apps", name).Object["status"].(map[string]any)["maps"]; got != "1+3 1+3" {
			t.Errorf("%s: status.maps is %q", name, got)
		}
		_, again := c.pass("apps", name)
		wantRequests(t, name+", again", again)
	}
}

// TestNamespacesOfRelatedObjects selects namespaces by their names and labels.
func TestNamespacesOfRelatedObjects(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, readers, "    kind: Job\n", "    kind: Job\n    namespaces: [a, b, c]\n    namespaceSelector: {matchLabels: {shared: 'yes'}}\n", "name: {{ .spec.job }}", "allNamespaces: true"))
	c.apply(reader("ns", "one", "{}"))
	for ns, shared := range map[string]string{"a": "yes", "b": "no", "d": "yes"} {
		c.apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {shared: '%s'}}}", ns, shared))
		c.apply(job(ns, "in-"+ns, "{}", "{note: x}"))
	}
	c.begin()
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
		c.apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {shared: '%s'}}}", step.ns, step.shared))
		if got := c.parentsDue.Len() > 0; got != step.woken {
			t.Errorf("%s: looked at is %v", step.what, got)
		}
		c.run()
		c.deliver()
		c.run()
		if got := c.jobsOf("one"); got != step.says {
			t.Errorf("%s: the child says %q, want %q", step.what, got, step.says)
		}
	}
	c.apply(job("a", "in-a", "{}", "{note: u}"))
	if got := c.woken(); len(got) > 0 {
		t.Errorf("looked at is %q, for what it does not see", got)
	}
	c.gone(request.Location{Resource: fakeKinds[schema.GroupKind{Kind: "Namespace"}].Resource, Name: "b"})
	wantRequests(t, "the namespace goes", c.run(), "update configmaps one", "status apps one")
}

// TestAnEditOfAnEntryIsFollowed has parents see what the new entry selects, and hear of nothing else.
func TestAnEditOfAnEntryIsFollowed(t *testing.T) {
	c := begun(t, readers, reader("ns", "one", "{job: a}"), job("ns", "a", "{}", "{note: x}"), job("ns", "b", "{}", "{note: u}"))
	c.apply(with(t, readers, "name: {{ .spec.job }}", "name: b"))
	c.run()
	if got := c.jobsOf("one"); got != "b: u" {
		t.Errorf("the child says %q", got)
	}
	c.deliver()
	c.run()
	c.apply(job("ns", "a", "{}", "{note: z}"))
	if got := c.woken(); len(got) > 0 {
		t.Errorf("looked at is %q, for what it saw before the edit", got)
	}
	c.apply(with(t, readers, "    select: |\n      name: {{ .spec.job }}\n", "    fieldSelector: metadata.name=a\n"))
	c.run()
	if got := c.jobsOf("one"); got != "a: z" {
		t.Errorf("the child says %q", got)
	}
	if slices.Contains(c.owners["apps"], relatedJobs) {
		t.Error("what nobody reads is watched still")
	}
}

// TestManyParentsOneChange has one pass for one change.
func TestManyParentsOneChange(t *testing.T) {
	const many = 300
	c := newCluster(t)
	c.apply(readers)
	for i := range many {
		c.apply(job("ns", fmt.Sprint("j", i), "{}", "{note: x}"))
		c.apply(reader("ns", fmt.Sprint("p", i), fmt.Sprintf("{job: j%d}", i)))
	}
	c.settle()
	before := len(c.requests)
	c.apply(job("ns", "j7", "{}", "{note: u}"))
	if diff := cmp.Diff([]queue.Key{{Controller: "apps", Parent: configMapName("p7")}}, c.queued()); diff != "" {
		t.Errorf("looked at (-want +got):\n%s", diff)
	}
	wantRequests(t, "one change", c.requests[before:])
	wantRequests(t, "its pass", c.run(), "update configmaps p7")
}

// queued returns what is to be looked at, and leaves it in the queue.
func (c *cluster) queued() []queue.Key {
	var keys []queue.Key
	for c.parentsDue.Len() > 0 {
		key, _ := c.parentsDue.Get()
		keys = append(keys, key)
		c.parentsDue.Done(key)
	}
	for _, key := range keys {
		c.parentsDue.Add(key)
	}
	return keys
}
