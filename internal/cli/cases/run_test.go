package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

const controller = `
-- templatecontroller.yaml --
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - {name: pods, apiVersion: v1, kind: Pod, select: 'labelSelector: {matchLabels: {app: one}}'}
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {pods: {{ len .related.pods | quote }}}}
-- case/parent.yaml --
{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: team}}
-- case/case.yaml --
`

// folder writes a case with its files.
func folder(t *testing.T, text string) *Case {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		file := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Find([]string{filepath.Join(root, "case")})[0]
	if c.broken != nil {
		t.Fatal(c.broken)
	}
	return c
}

func TestStepObserveValidation(t *testing.T) {
	const nobodys = "neither the label templater.dev/child nor an owner reference names its child template"
	for why, row := range map[string]struct{ step, want string }{
		"a child that is there":                  {"{name: b, observe: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {x: z}}]}", ""},
		"a child in the namespace of its parent": {"{name: b, observe: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: team}}]}", ""},
		"one of another namespace":               {"{name: b, observe: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: other}}]}", "did you mean ConfigMap team/map?"},
		"one of another kind":                    {"{name: b, observe: [{apiVersion: v1, kind: Secret, metadata: {name: map}}]}", "no child template renders Secret team/map, and " + nobodys + "; put objects that are only read into related"},
		"one that a template reads":              {"{name: b, observe: [{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {app: one}}}]}", ""},
		"one that no template reads":             {"{name: b, observe: [{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {app: two}}}]}", nobodys + "; put objects that are only read into related"},
		"a child of a removed child template":    {"{name: b, observe: [{apiVersion: v1, kind: Secret, metadata: {name: x, labels: {templater.dev/child: old}}}]}", ""},
		"another controller's":                   {"{name: b, observe: [{apiVersion: v1, kind: Secret, metadata: {name: x, labels: {templater.dev/controller: other}}}]}", ""},
		"another parent's":                       {"{name: b, observe: [{apiVersion: v1, kind: Secret, metadata: {name: x, labels: {templater.dev/parent-uid: u}}}]}", ""},
		"an object with another owner":           {"{name: b, observe: [{apiVersion: v1, kind: Secret, metadata: {name: x, ownerReferences: [{uid: u}]}}]}", ""},
		"no object to observe":                   {"{name: b, observe: [{apiVersion: v1, metadata: {name: x}}]}", "observe: an object needs apiVersion, kind and metadata.name"},
		"no version of one":                      {"{name: b, observe: [{kind: Pod, metadata: {name: x}}]}", "observe: an object needs apiVersion, kind and metadata.name"},
		"no object":                              {"{name: b, related: [{kind: Pod}]}", "related: an object needs apiVersion, kind and metadata.name"},
		"no object to remove":                    {"{name: b, remove: [{apiVersion: v1, kind: Pod}]}", "remove: an object needs apiVersion, kind and metadata.name"},
		"an object without a namespace":          {"{name: b, remove: [{apiVersion: v1, kind: Namespace, metadata: {name: x}}]}", "remove: no Namespace x"},
	} {
		t.Run(why, func(t *testing.T) {
			_, err := folder(t, controller+"steps: [{name: a}, "+row.step+"]\n").Run(true)
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), `step "b": `) || !strings.HasSuffix(err.Error(), row.want)):
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

// TestObservedObjectMatchingTemplateIsChild has objects that come in the step in which templater would make them, or take them away.
func TestObservedObjectMatchingTemplateIsChild(t *testing.T) {
	once := strings.Replace(controller, "      {apiVersion: v1", "      {{ if not .status.done }}{apiVersion: v1", 1)
	once = strings.Replace(once, "| quote }}}}\n", "| quote }}}}{{ end }}\n  status: {template: 'done: true'}\n", 1)
	const given = "{name: a, observe: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {pods: \"0\"}}]}"
	for why, row := range map[string]struct{ controller, want string }{
		"kept":   {controller, "writes:\n- update the status of App team/one\n"},
		"pruned": {once, "- delete ConfigMap team/map\n"},
	} {
		t.Run(why, func(t *testing.T) {
			c := folder(t, row.controller+"steps: ["+given+"]\n")
			if _, err := c.Run(true); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(c.expected(0)); err != nil || !strings.Contains(string(text), row.want) {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
	left := strings.Replace(controller, "{name: one, namespace: team}", "{name: one, namespace: team, uid: u}", 1)
	left = strings.Replace(left, "- name: map\n", "- name: map\n    prunePolicy: Orphan\n", 1)
	c := folder(t, left+"steps: [{name: a, observe: [{apiVersion: v1, kind: Secret, metadata: {name: token, labels: {templater.dev/child: map}}}, {apiVersion: v1, kind: Secret, metadata: {name: tokne}}]}]\n")
	if _, err := c.Run(true); err == nil || !strings.HasSuffix(err.Error(), "; did you mean Secret team/token?") {
		t.Errorf("a child that is no longer rendered: %v", err)
	}
}

// TestStepsContinueFromPreviousState has each step begin with what the one before has left.
func TestStepsContinueFromPreviousState(t *testing.T) {
	c := folder(t, controller+`
steps:
- {name: a}
- {name: b, related: [{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {app: one}}}]}
- {name: c, after: 1h, related: [{apiVersion: v1, kind: Pod, metadata: {name: z, labels: {app: one}}}]}
- {name: d, remove: [{apiVersion: v1, kind: Pod, metadata: {name: x}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: map}}]}
- {name: e, parent: {metadata: {deletionTimestamp: null}}, delete: true}
`)
	outcome, err := c.Run(true)
	if err != nil || len(outcome.Steps) != 5 || outcome.Failed() {
		t.Fatalf("%v: %+v", err, outcome)
	}
	for i, want := range []string{
		"create ConfigMap team/map\n", "pods: \"1\"\n", "pods: \"2\"\n", "create ConfigMap team/map\n", "gone: true\n",
	} {
		text, err := os.ReadFile(c.expected(i))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: step %s: %s, want %s", err, c.Steps[i].Name, text, want)
		}
	}
	stale := filepath.Join(c.Folder, "expected", "9-more.yaml")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	outcome, err = c.Run(false)
	if err != nil || !outcome.Failed() || len(outcome.Stale) != 1 || outcome.Stale[0] != stale {
		t.Errorf("%v: %+v, want that %s is of no step", err, outcome, stale)
	}
	if outcome, err = c.Run(true); err != nil || outcome.Failed() {
		t.Errorf("updated: %v: %+v", err, outcome)
	}
	if err := os.Remove(c.expected(2)); err != nil {
		t.Fatal(err)
	}
	outcome, err = c.Run(false)
	if err != nil || !outcome.Failed() || outcome.Steps[2].Failure != c.expected(2)+" does not exist: create it with --update, and review it\n" {
		t.Errorf("%v: %+v", err, outcome)
	}
	if err := os.WriteFile(c.expected(2), []byte("writes: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	outcome, err = c.Run(false)
	if err != nil || !outcome.Failed() || !strings.Contains(outcome.Steps[2].Failure, "-writes: []\n") || outcome.Steps[3].Failure != "" {
		t.Errorf("%v: %+v", err, outcome)
	}
}

// TestObservedDriftIsRepaired has a step change a field that templater applied, and one that it did not.
func TestObservedDriftIsRepaired(t *testing.T) {
	const head, edit = "writes:\n- update ConfigMap team/map\n", "observe: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {%s: edited}}]"
	for why, row := range map[string]struct {
		field    string
		repaired bool
	}{
		"a field of the template": {"pods", true},
		"another field":           {"more", false},
	} {
		t.Run(why, func(t *testing.T) {
			c := folder(t, controller+"steps: [{name: a}, {name: b, "+fmt.Sprintf(edit, row.field)+"}]\n")
			if _, err := c.Run(true); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(c.expected(1))
			if err != nil || strings.HasPrefix(string(text), head) != row.repaired {
				t.Errorf("%v: %s\nrepaired: want %v", err, text, row.repaired)
			}
		})
	}
}

// another is a TemplateController with children of its own.
const another = `{apiVersion: templater.dev/v1, kind: TemplateController, metadata: {name: others}, spec: {watch: {apiVersion: example.org/v1, kind: App}, children: [{name: secret, template: '{apiVersion: v1, kind: Secret, metadata: {name: others}}'}]}}
`

func TestInvalidCasesAreRejected(t *testing.T) {
	const refers = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.example.org}, spec: {group: example.org, scope: Namespaced, names: {kind: App, plural: apps}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {$ref: "#/x"}}}]}}
`
	const steps = "steps: [{name: a}]\n"
	for why, row := range map[string]struct{ text, want string }{
		"no parent":                       {strings.Replace(controller, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: team}}", "", 1) + steps, "parent.yaml: it contains no object"},
		"two parents":                     {strings.Replace(controller, "namespace: team}}", "namespace: team}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: x}}", 1) + steps, "parent.yaml: 2 objects, want one: the parent"},
		"a template that makes no sense":  {strings.Replace(controller, "len .related.pods", "len .related.pod", 1) + steps, "templatecontroller.yaml:11:84: children[map]:1:78: unknown name .related.pod; did you mean .related.pods?; known: .related.pods"},
		"objects that are not there":      {controller + "objects: [x.yaml]\n" + steps, "x.yaml: no such file or directory"},
		"a kind that does not fit":        {strings.Replace(controller, "apiVersion: example.org/v1, kind: App}", "apiVersion: v1, kind: Namespace, namespaces: [a]}", 1) + steps, "spec.watch: Namespace is cluster-scoped: remove namespaces and namespaceSelector"},
		"a parent of another kind":        {strings.Replace(controller, "{apiVersion: example.org/v1, kind: App, metadata: {name: one", "{apiVersion: v1, kind: Pod, metadata: {name: one", 1) + steps, "it is a Pod, and TemplateController apps watches App.example.org"},
		"a parent that is not there":      {controller + "parent: x.yaml\n" + steps, "x.yaml: no such file or directory"},
		"related ones that are not there": {controller + "related: [x.yaml]\n" + steps, "x.yaml: no such file or directory"},
		"nothing to test":                 {strings.Replace(controller, "-- templatecontroller.yaml --", "-- other.yaml --", 1) + steps, "case.yaml: no templatecontroller.yaml in this directory or above: set files"},
		"two TemplateControllers":         {strings.Replace(controller, "-- case/parent.yaml --", "---\n"+another+"-- case/parent.yaml --", 1) + steps, "case.yaml: there are 2 TemplateControllers: name one of them in controller"},
		"one that is none of two":         {strings.Replace(controller, "-- case/parent.yaml --", "---\n"+another+"-- case/parent.yaml --", 1) + "controller: more\n" + steps, "case.yaml: controller: no TemplateController more"},
		"a definition that refers":        {strings.Replace(controller, "-- case/parent.yaml --", "-- crd.yaml --\n"+refers+"-- case/parent.yaml --", 1) + steps, "x-kubernetes-preserve-unknown-fields: true for a recursive one"},
		"files that are not there":        {controller + "files: [x.yaml]\n" + steps, "x.yaml: no such file or directory"},
	} {
		t.Run(why, func(t *testing.T) {
			if _, err := folder(t, row.text).Run(true); err == nil || !strings.HasSuffix(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

// TestCaseSelectsControllerParentAndCRD has one TemplateController of two, and the definition beside them, which puts the parents into no namespace.
func TestCaseSelectsControllerParentAndCRD(t *testing.T) {
	c := folder(t, strings.Replace(controller, "-- case/parent.yaml --", "---\n"+another+`-- crd.yaml --
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.example.org}, spec: {group: example.org, scope: Cluster, names: {kind: App, plural: apps}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}, subresources: {status: {}}}]}}
-- case/whole.yaml --
{apiVersion: example.org/v1, kind: App, metadata: {name: whole}}
-- case/parent.yaml --`, 1)+"controller: others\nparent: whole.yaml\nsteps: [{name: a}]\n")
	if _, err := c.Run(true); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.expected(0))
	if want := "children[secret]:1: a Secret is namespaced and its parent is not: set"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: %s, want %s", err, text, want)
	}
}

// TestReconciliationLoopFailsTheStep is told of the step.
func TestReconciliationLoopFailsTheStep(t *testing.T) {
	c := folder(t, strings.Replace(controller, "-- case/parent.yaml --", "  status: {template: 'n: {{ add 1 (.status.n | default 0) }}'}\n-- case/parent.yaml --", 1)+"steps: [{name: a}]\n")
	outcome, err := c.Run(true)
	if err != nil || !outcome.Failed() || !strings.HasPrefix(outcome.Steps[0].Failure, "the reconciliation does not converge: every reconciliation causes another write") || exists(c.expected(0)) {
		t.Errorf("%v: %+v", err, outcome)
	}
}

// TestAfterAdvancesTimeToFinalizeTimeout until a parent goes without what is not done.
func TestAfterAdvancesTimeToFinalizeTimeout(t *testing.T) {
	c := folder(t, strings.Replace(controller, "-- case/parent.yaml --", `  finalize:
    timeout: 10m
    children: [{name: job, template: '{apiVersion: batch/v1, kind: Job, metadata: {name: last}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}'}]
-- case/parent.yaml --`, 1)+"steps: [{name: a}, {name: b, delete: true}, {name: c, after: 9m}, {name: d, after: 2m}]\n")
	if outcome, err := c.Run(true); err != nil || !strings.Contains(outcome.Steps[3].Failure, "was written, and contains errors") || outcome.Steps[2].Failure != "" {
		t.Fatalf("%v: want that the new error is reported: %+v", err, outcome)
	}
	if outcome, err := c.Run(true); err != nil || outcome.Failed() {
		t.Fatalf("the error is known by now: %v: %+v", err, outcome)
	}
	for i, gone := range []bool{false, false, false, true} {
		text, err := os.ReadFile(c.expected(i))
		if err != nil || strings.Contains(string(text), "gone: true") != gone {
			t.Errorf("step %d: %v: want gone = %v:\n%s", i, err, gone, text)
		}
	}
}

// TestExpectedFilesOfWrongType has a folder in the place of a file, and a file in that of a folder.
func TestExpectedFilesOfWrongType(t *testing.T) {
	c := folder(t, controller+"steps: [{name: a}]\n-- case/expected/1-a.yaml/x --\n")
	for _, update := range []bool{false, true} {
		if _, err := c.Run(update); err == nil || !strings.HasSuffix(err.Error(), "is a directory") {
			t.Errorf("a folder for a file, update is %v: %v", update, err)
		}
	}
	c = folder(t, controller+"steps: [{name: a}]\n-- case/expected --\n")
	for _, update := range []bool{false, true} {
		if _, err := c.Run(update); err == nil || !strings.HasSuffix(err.Error(), "not a directory") {
			t.Errorf("a file for the folder, update is %v: %v", update, err)
		}
	}
	if _, err := c.stale(nil, false); err == nil {
		t.Error("a file for the folder: its files are none of a step, and there is no error")
	}
	c = folder(t, controller+"steps: [{name: a}]\n-- case/expected/2-b.yaml --\n-- case/expected/3-c.yaml --\n-- case/expected/4-d.yaml/x --\n")
	if _, err := c.Run(true); err == nil || !strings.HasSuffix(err.Error(), "directory not empty") || exists(filepath.Join(c.Folder, "expected", "3-c.yaml")) {
		t.Errorf("a folder among old files: %v", err)
	}
}

// TestUpdateRejectsSymlinks has a link where --update writes and removes files, as a repository of somebody else may.
func TestUpdateRejectsSymlinks(t *testing.T) {
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, "1-a.yaml")
	for _, file := range []string{precious, filepath.Join(elsewhere, "other.yaml")} {
		if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const want = " is a symbolic link: replace it with a real file or directory, which --update can write"
	for link, target := range map[string]string{"expected": elsewhere, "expected/1-a.yaml": precious} {
		c := folder(t, controller+"steps: [{name: a}]\n")
		path := filepath.Join(c.Folder, filepath.FromSlash(link))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skip("this system makes no links: ", err)
		}
		if _, err := c.Run(true); err == nil || err.Error() != path+want {
			t.Errorf("%s: error %v, want %q", link, err, path+want)
		}
		if _, err := c.stale(nil, true); link == "expected" && (err == nil || err.Error() != path+want) {
			t.Errorf("%s: error %v, want %q", link, err, path+want)
		}
	}
	for _, file := range []string{precious, filepath.Join(elsewhere, "other.yaml")} {
		if text, err := os.ReadFile(file); string(text) != "precious" {
			t.Errorf("%s holds %q: %v", file, text, err)
		}
	}
}

// failing is a file that takes no more after some bytes.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.left {
		return 0, errFull
	}
	f.left -= len(b)
	return len(b), nil
}

func TestJUnitReport(t *testing.T) {
	all := []Outcome{{Folder: "x", Steps: []StepOutcome{{Name: "a", Failure: "no\n"}}, Stale: []string{"y"}}, {Folder: "z", Steps: []StepOutcome{{Name: "b"}}}}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="x" tests="2" failures="2">
    <testcase name="a" classname="x" time="0.000">
      <failure message="not as expected">no&#xA;</failure>
    </testcase>
    <testcase name="expected files" classname="x" time="0.000">
      <failure message="unused files">y</failure>
    </testcase>
  </testsuite>
  <testsuite name="z" tests="1" failures="0">
    <testcase name="b" classname="z" time="0.000"></testcase>
  </testsuite>
</testsuites>
`
	var whole strings.Builder
	if err := JUnit(&whole, all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, whole.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := JUnit(&failing{30}, nil); !errors.Is(err, errFull) {
		t.Errorf("a report of nothing, where no more than that fits: %v", err)
	}
	for _, left := range []int{0, 50, whole.Len() - 1} {
		if err := JUnit(&failing{left}, all); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

func TestFindSkipsHiddenFolders(t *testing.T) {
	const steps = "steps: [{name: a}]\n"
	below := folder(t, controller+steps+"-- case/.hidden/case.yaml --\nsteps: []\n-- case/.a --\n-- case/below/case.yaml --\n"+steps).Folder
	root := filepath.Dir(below)
	if err := os.MkdirAll(filepath.Join(root, "other", File), 0o755); err != nil {
		t.Fatal(err)
	}
	if all := Find([]string{root}); len(all) != 2 || all[0].Folder != below || all[1].Folder != root {
		t.Errorf("got %+v", all)
	}
	t.Chdir(root)
	if all := Find([]string{"."}); len(all) != 2 || all[1].Folder != "." {
		t.Errorf("from within: %+v", all)
	}
	for path, want := range map[string]string{"nowhere": "nowhere: no such file or directory", "other": "no case.yaml in other", ".hidden": ".hidden/case.yaml:1:1: no steps: add at least one"} {
		t.Run(path, func(t *testing.T) {
			all := Find([]string{path, "."})
			if _, err := all[0].Run(false); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if len(all) != 3 {
				t.Errorf("got %d cases, want the two others, too", len(all))
			}
		})
	}
}

// TestStepEffectsOnStatus looks at the status, which shows what the templates see.
func TestStepEffectsOnStatus(t *testing.T) {
	c := folder(t, `
-- templatecontroller.yaml --
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related: [{name: pods, apiVersion: v1, kind: Pod, logs: {}}]
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}}
  - name: job
    template: |
      {{- if ne (.spec.size | default 0) 1 }}
      {apiVersion: batch/v1, kind: Job, metadata: {name: job}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
      {{- end }}
  status:
    template: |
      size: {{ .spec.size | default 0 }}
      generation: {{ .metadata.generation }}
      phase: {{ (first .children.map).status.phase | default "" | quote }}
      count: {{ (first .children.map).status.count | default 0 }}
      logs: {{ range .related.pods }}{{ (logs .).main | default "" | quote }}{{ end }}
-- crd.yaml --
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.example.org}, spec: {group: example.org, scope: Namespaced, names: {kind: App, plural: apps}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}, subresources: {status: {}}}]}}
-- case/parent.yaml --
{apiVersion: example.org/v1, kind: App, metadata: {name: one}}
-- case/pod.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: p}}
-- case/more.yaml --
{apiVersion: v1, kind: Secret, metadata: {name: more}}
-- case/case.yaml --
time: 2026-03-01T00:00:00Z
related: [pod.yaml]
objects: [more.yaml]
steps:
- {name: a}
- name: b
  after: 90s
  parent: {spec: {size: 9007199254740993}}
  logs: {default/p: {main: line}}
  observe:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, status: {phase: Up, count: 7}}
  - {apiVersion: v1, kind: Secret, metadata: {name: more}, data: {a: b}}
- {name: c, after: 30s, ready: [job], observe: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map}, status: {phase: null}}]}
- {name: d, parent: {spec: {size: 1}}, observe: [{apiVersion: batch/v1, kind: Job, metadata: {name: job}, status: {failed: 1}}]}
- {name: e, allReady: true, parent: {spec: {size: 2}}}
`)
	if outcome, err := c.Run(true); err != nil || outcome.Failed() {
		t.Fatalf("%v: %+v", err, outcome)
	}
	for i, want := range []string{
		"  count: 0\n  generation: 1\n  logs: \"\"\n  phase: \"\"\n  size: 0\n",
		"  count: 7\n  generation: 2\n  logs: line\n  phase: Up\n  size: 9007199254740993\n",
		"  count: 7\n  generation: 2\n  logs: line\n  phase: \"\"\n  size: 9007199254740993\n",
		"- delete Job default/job\n",
		"# children[job] of App default/one: ready\n",
	} {
		text, err := os.ReadFile(c.expected(i))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: step %s:\n%s\nwant\n%s", err, c.Steps[i].Name, text, want)
		}
	}
	for i, ready := range map[int]string{0: "not started yet", 2: "ready"} {
		text, err := os.ReadFile(c.expected(i))
		if want := "# children[job] of App default/one: " + ready + "\n"; err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: step %s:\n%s\nwant\n%s", err, c.Steps[i].Name, text, want)
		}
	}
}

func TestInvalidCaseFilesAreRejected(t *testing.T) {
	file := filepath.Join(t.TempDir(), File)
	for text, want := range map[string]string{
		"steps: [":                          ":2:1: invalid YAML: ",
		"step: []":                          ":1:1: unknown field step; did you mean steps?",
		"Steps: [{name: a}]":                ":1:1: unknown field Steps; did you mean steps?",
		"steps: [{name: a, Ready: [map]}]":  ":1:19: unknown field steps[0].Ready; did you mean ready?",
		"steps: [{name: a, wait: 5s}]":      ":1:19: unknown field steps[0].wait\x00",
		"ready: [map]\nsteps: [{name: a}]":  ":1:1: unknown field ready; it belongs to one of steps",
		"folder: a\nsteps: [{name: a}]":     ":1:1: unknown field folder\x00",
		"steps: [{name: a}]\nsteps: []":     ":2:1: duplicate key steps",
		"time: noon\nsteps: [{name: a}]":    `:1:1: parsing time "noon"`,
		"steps: 1":                          ":1:1: steps: unexpected number: see docs/how-to/testing.md",
		"steps: [{name: a, ready: {a: b}}]": ":1:1: steps.ready: unexpected mapping: see docs/how-to/testing.md",
		"steps: [{name: [a]}]":              ":1:1: steps.name: unexpected list: see docs/how-to/testing.md",
		"parent: a\nsteps: []":              ":1:1: no steps: add at least one",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(file).broken; err == nil || !strings.HasPrefix(err.Error()+"\x00", file+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := read(filepath.Dir(file)).broken; err == nil || !strings.HasSuffix(err.Error(), "is a directory") {
		t.Errorf("a folder: %v", err)
	}
}

func TestInvalidStepsAreRejected(t *testing.T) {
	for steps, want := range map[string]string{
		"[]":                        "no steps: add at least one",
		"[{}]":                      "steps[0] has no name",
		"[{name: a, after: soon}]":  "steps[0].after: write a duration such as 90s or 10m",
		"[{name: a, after: 0s}]":    "",
		"[{name: a}, {name: A!}]":   "steps[1]: duplicate name A!",
		"[{name: a, delete: true}]": "steps[0].delete: the parent has no children yet: add a step before it",
		"[{name: a}, {name: b, delete: true}, {name: c}, {name: d, delete: true}]": "steps[3].delete: the parent was already deleted in steps[1]",
		"[{name: a}, {name: b, delete: true}, {name: c}]":                          "",
	} {
		c := &Case{}
		if err := yaml.Unmarshal([]byte("steps: "+steps), c); err != nil {
			t.Fatal(err)
		}
		if got := c.fault(); got != want {
			t.Errorf("%s: %q, want %q", steps, got, want)
		}
	}
	c := folder(t, controller+"steps: [{name: a, ready: [map, mpa]}]\n")
	if _, err := c.Run(true); err == nil || !strings.HasSuffix(err.Error(), `steps[0].ready: no child template "mpa" in spec.children or spec.finalize.children; did you mean map?`) {
		t.Errorf("got %v", err)
	}
	c = folder(t, controller+"steps: [{name: a}, {name: b, delete: true}, {name: c}]\n")
	if _, err := c.Run(true); err == nil || !strings.HasSuffix(err.Error(), `case.yaml:1:45: step "c": `+errGone.Error()) {
		t.Errorf("after the end: %v", err)
	}
}

const jobController = `
-- templatecontroller.yaml --
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: backups}
spec:
  watch: {apiVersion: example.org/v1, kind: Backup}
  crd:
    schema:
      spec:
        image: string | required=true pattern="^[a-z]+$"
  children:
  - name: job
    template: |
      apiVersion: batch/v1
      kind: Job
      metadata: {name: {{ .metadata.name }}}
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: {{ .spec.image }}}]}}}
-- case/parent.yaml --
{apiVersion: example.org/v1, kind: Backup, metadata: {name: one, namespace: team}, spec: {image: PARENT}}
-- case/case.yaml --
steps: [{name: a}, {name: b, parent: {spec: STEP}}]
`

func TestCasesFailIfTheServerRefuses(t *testing.T) {
	for why, row := range map[string]struct{ parent, step, err, failure string }{
		"an immutable field of a child": {"nginx", "{image: busybox}", "", "cannot update Job team/one: spec.template: field is immutable"},
		"a typo in a change":            {"nginx", "{imge: busybox}", `step "b": the API server would refuse Backup team/one: .spec.imge: the schema has no such field`, ""},
		"the first parent":              {"NGINX", "{}", `step "a": the API server would refuse Backup team/one: spec.image: invalid value: should match ^[a-z]+$`, ""},
	} {
		t.Run(why, func(t *testing.T) {
			outcome, err := folder(t, strings.NewReplacer("PARENT", row.parent, "STEP", row.step).Replace(jobController)).Run(true)
			if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), filepath.Join("case", "case.yaml:1:")) || !strings.HasSuffix(err.Error(), ": "+row.err)) {
				t.Fatalf("got error %v, want %s", err, row.err)
			}
			if row.failure != "" && (len(outcome.Steps) != 2 || !strings.Contains(outcome.Steps[1].Failure, row.failure)) {
				t.Errorf("got %+v, want %s", outcome.Steps, row.failure)
			}
		})
	}
}
