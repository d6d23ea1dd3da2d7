package playground

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/tree"
)

var update = flag.Bool("update", false, "write the expected files")

var samples = []string{"simpledeployment", "loadtest", "orchestr", "webshop"}

func file(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "..", "config", "samples"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sample(t testing.TB, name string) Request {
	t.Helper()
	r := Request{Controllers: file(t, name, "templatecontroller.yaml"), Parents: file(t, name, "example.yaml"), Time: "2026-01-01T00:00:00Z"}
	if !strings.Contains(r.Controllers, "\n  crd:\n") {
		r.Definitions = file(t, name, "crd.yaml")
	}
	return r
}

// TestSampleResultsMatchGoldenFiles compares what becomes of the samples with testdata.
func TestSampleResultsMatchGoldenFiles(t *testing.T) {
	for _, name := range samples {
		for _, ready := range []bool{false, true} {
			r, golden := sample(t, name), name
			if r.AllReady = ready; ready {
				golden += "-ready"
			}
			t.Run(golden, func(t *testing.T) {
				a := new(Session).Answer(r)
				if a.Summary.Errors+a.Summary.Warnings > 0 || len(a.Problems) > 0 {
					t.Errorf("findings %v, problems %v", a.Findings, a.Problems)
				}
				for i := range a.Results {
					a.Results[i].Tree = tree.Tree{} // which is tested where it is made
				}
				got, err := yaml.Marshal(a.Results)
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join("testdata", golden+".yaml")
				if *update {
					if err := os.WriteFile(path, got, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("-want +got, -update writes it:\n%s", diff)
				}
			})
		}
	}
}

// TestDependencyOrder shows what waits for what, and what is ready already.
func TestDependencyOrder(t *testing.T) {
	r := sample(t, "webshop")
	r.Ready = []string{"db"}
	var got []string
	for _, e := range new(Session).Answer(r).Results[0].Tree.Controllers[0].Children {
		line := e.Name + " after " + strings.Join(e.WaitsFor, ",") + ":"
		for _, o := range e.Objects {
			line += " " + o.Kind + " " + o.State
		}
		got = append(got, line)
	}
	want := []string{
		"service after : Service ready", "db after : Service ready StatefulSet ready", "migrate after db: Job not started yet",
		"web after db,migrate: Deployment waiting for other children",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProblemsHavePositionAndMessage says of texts that something is wrong with, where and in which words.
func TestProblemsHavePositionAndMessage(t *testing.T) {
	const tooMuch = "the templates exceed the budget of one reconciliation (about 64 MiB of memory or 0.2 s of CPU time for all templates together): use shorter loops or less text, or split the parent"
	for why, row := range map[string]struct {
		change func(*Request)
		want   []Problem
	}{
		"no YAML":   {func(r *Request) { r.Parents = "a: [1\nb: 2" }, []Problem{{Place{Parents, 1, 4}, "invalid YAML: the [ here is not closed, or a comma is missing after an item (did not find expected ',' or ']')"}}},
		"no object": {func(r *Request) { r.Related = "\na: 1\n" }, []Problem{{Place{Related, 2, 1}, "not an object: apiVersion and kind are missing"}}},
		"a template without an end": {func(r *Request) {
			r.Controllers = strings.Replace(r.Controllers, "template: |\n", "template: |\n      {{ range 1000000000000 }}{{ end }}\n", 1)
		}, []Problem{{Place{Controllers, 15, 32}, "children[pod]:1:26: " + tooMuch}}},
		"a text of comments":       {func(r *Request) { r.Related = "# nothing\n" }, []Problem{}},
		"a text that is long":      {func(r *Request) { r.Observed = strings.Repeat("#", largestText+1) }, []Problem{{Place{Text: Observed}, "larger than 1 MiB, the limit of the playground"}}},
		"a time that is none":      {func(r *Request) { r.Time = "yesterday" }, []Problem{{Message: "invalid time: write one such as 2026-01-31T12:00:00Z"}}},
		"an unknown field":         {func(r *Request) { r.Controllers = strings.Replace(r.Controllers, "watch:", "wacth:", 1) }, []Problem{{Place{Controllers, 6, 3}, "unknown field spec.wacth; did you mean watch?"}}},
		"a parent of another kind": {func(r *Request) { r.Parents = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}" }, []Problem{{Place{Parents, 1, 0}, "no TemplateController watches objects of this kind: compare apiVersion and kind with spec.watch"}}},
		"a parent in another namespace": {func(r *Request) {
			r.Controllers = strings.Replace(r.Controllers, "watch:", "watch:\n    namespaces: [other]", 1)
		}, []Problem{{Place{Parents, 1, 0}, "SimpleDeployment example-01 is not a parent: its namespace is not in spec.watch.namespaces"}}},
		"many parents": {func(r *Request) { r.Parents = strings.Repeat("---\n"+r.Parents, mostParents+1) }, []Problem{{Message: "the playground renders at most 20 parents, and there are 21: remove some"}}},
		"a template that fails": {func(r *Request) {
			r.Controllers = strings.Replace(r.Controllers, "template: |\n", "template: |\n      {{ fail \"no\" }}\n", 1)
		}, []Problem{{Place{Controllers, 15, 10}, "children[pod]:1:4: no"}}},
	} {
		t.Run(why, func(t *testing.T) {
			r := sample(t, "simpledeployment")
			row.change(&r)
			if diff := cmp.Diff(row.want, new(Session).Answer(r).Problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLintFindings says of mistakes where they are, and what to write instead.
func TestLintFindings(t *testing.T) {
	r := sample(t, "simpledeployment")
	r.Controllers = strings.Replace(r.Controllers, ".spec.sleepytime", ".spec.slepytime", 1)
	a := new(Session).Answer(r)
	if len(a.Problems) != 0 || a.Summary.Warnings != 1 || len(a.Findings) != 1 {
		t.Fatalf("%+v", a)
	}
	f := a.Findings[0]
	line := strings.Split(r.Controllers, "\n")[f.Line-1]
	if got := line[f.Column-1:][:f.Length]; got != "slepytime" || f.Replacement != "sleepytime" || f.Text != Controllers || f.Title == "" || f.Page == "" {
		t.Errorf("%s: %+v", got, f)
	}
}

// TestDisplayedChildrenAreLimited counts what is left out.
func TestDisplayedChildrenAreLimited(t *testing.T) {
	r := sample(t, "loadtest")
	r.Parents = strings.Replace(r.Parents, "replicas: 5", "replicas: 300", 1)
	for _, result := range new(Session).Answer(r).Results {
		if len(result.Children) != mostChildren || result.Left != 300-mostChildren {
			t.Errorf("%d children, and %d more", len(result.Children), result.Left)
		}
	}
}

func TestAnswerJSON(t *testing.T) {
	request, err := json.Marshal(sample(t, "loadtest"))
	if err != nil {
		t.Fatal(err)
	}
	var a Answer
	if err := json.Unmarshal(new(Session).AnswerJSON(request), &a); err != nil || len(a.Results) != 1 || len(a.Results[0].Children) == 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if got := string(new(Session).AnswerJSON([]byte("{"))); !strings.Contains(got, "reload the page") {
		t.Error(got)
	}
}

// TestDeletedParentShowsFinalizeChildren has one that is being deleted: what spec.finalize makes is shown, and then that it is gone.
func TestDeletedParentShowsFinalizeChildren(t *testing.T) {
	r := Request{Time: "2026-01-01T00:00:00Z", Controllers: `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  finalize:
    children:
    - name: backup
      template: |
        {apiVersion: batch/v1, kind: Job, metadata: {name: backup}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}
  status: {template: 'a: 1'}
`, Parents: `{apiVersion: example.org/v1, kind: App, metadata: {name: one, deletionTimestamp: "2026-01-01T00:00:00Z"}}`}
	a := new(Session).Answer(r)
	if len(a.Results) != 1 || len(a.Problems) > 0 {
		t.Fatalf("%+v", a)
	}
	of := a.Results[0]
	if of.Ready.Reason != "Finalizing" || len(of.Children) != 1 || of.Children[0].State != "not started yet" || of.Tree.Parent.State != tree.Deleting || len(of.Tree.Controllers[0].Children[0].Objects) != 1 {
		t.Errorf("%+v", of)
	}
	r.Ready = []string{"backup"}
	of = new(Session).Answer(r).Results[0]
	if of.Ready.Message != "the object is being deleted" || len(of.Children) > 0 || of.Writes[len(of.Writes)-1] != "remove the finalizer of App default/one" {
		t.Errorf("%+v", of)
	}
}
