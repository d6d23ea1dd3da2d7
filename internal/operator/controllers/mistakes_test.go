package controllers

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var updateMistakes = flag.Bool("update-mistakes", false, "write what is reported into testdata/mistakes")

// secretOfMistakes is contained in the data of every row, as text and as a number.
var secretOfMistakes = regexp.MustCompile(`s3cr3t|31337313`)

// usualApp is the spec of a row's App, unless the row has its own.
const usualApp = `{text: s3cr3t-text, list: [s3cr3t-item], number: 31337313}`

// keptEntry creates a child that exists before each mistake, and must be kept.
const keptEntry = `
- name: kept
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-kept"}
`

// TestMistakesAreReported checks the exact messages that users see for each mistake in testdata/mistakes. Mistakes that
// only a real API server detects are in e2e/testdata/badinput. A file contains
//
//	bad/controller.yaml    the spec of the TemplateController apps, which watches Apps
//	bad/parent.yaml        the spec of the App "one"
//	bad/want               all problems, as shown by conditions and Events
//	fixed/controller.yaml  the corrected spec, which must have no problems
//	fixed/parent.yaml      the corrected spec of the App, if needed
//
// While the mistake exists, the child of keptEntry is unchanged, and another reconciliation writes nothing.
func TestMistakesAreReported(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rows: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := &mistake{cluster: newCluster(t), file: file, archive: archive}
			m.run()
		})
	}
}

// mistake is one row.
type mistake struct {
	*cluster
	file    string
	archive *txtar.Archive
}

func (m *mistake) run() {
	t := m.T.(*testing.T)
	m.controller("")
	m.parent(usualApp)
	m.Settle()
	kept := m.kept()
	if kept == "" || m.report() != "" {
		t.Fatalf("before the mistake: child %q, amiss: %s", kept, m.report())
	}
	m.stage("bad")
	want, got := m.section("bad/want"), m.report()
	if *updateMistakes {
		m.write(got)
		want = got
	}
	if diff := cmp.Diff(want, got); diff != "" || want == "" {
		t.Errorf("what is amiss (-want +got):\n%s", diff)
	}
	wantRequests(t, "another look", m.reconcileAgain())
	if text := secretOfMistakes.FindString(m.report() + strings.Join(m.Events, "\n")); text != "" {
		t.Errorf("a value is told: %s", text)
	}
	m.Events = nil
	m.stage("fixed")
	if diff := cmp.Diff("", m.report()); diff != "" {
		t.Errorf("what is amiss when it is fixed (-want +got):\n%s", diff)
	}
	if now := m.kept(); now != kept {
		t.Errorf("the child that was there before is %q now, want %q", now, kept)
	}
}

// stage applies the files of a stage, and settles.
func (m *mistake) stage(stage string) {
	if spec := m.section(stage + "/controller.yaml"); spec != "" {
		m.controller(spec)
	}
	if spec := m.section(stage + "/parent.yaml"); spec != "" {
		m.parent(spec)
	}
	m.Settle()
}

func (m *mistake) section(name string) string {
	for _, f := range m.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// controller applies the TemplateController with a spec, to which keptEntry is added.
func (m *mistake) controller(spec string) {
	head, children, found := strings.Cut("\n"+spec, "\nchildren:\n")
	if !found {
		children = ""
	}
	end := len(children)
	if next := regexp.MustCompile(`(?m)^[a-z]`).FindStringIndex(children); next != nil {
		end = next[0]
	}
	spec = "watch: {apiVersion: example.org/v1, kind: App}\n" + head + "\nchildren:\n" + children[:end] + keptEntry + children[end:]
	m.KubectlApply("apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: apps}\nspec:\n" + shifted(spec))
}

func (m *mistake) parent(spec string) {
	m.KubectlApply("apiVersion: example.org/v1\nkind: App\nmetadata: {name: one, namespace: default}\nspec:\n" + shifted(spec))
}

func shifted(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// kept returns the UID of the child that must be kept.
func (m *mistake) kept() types.UID {
	if child := m.Find("configmaps", "one-kept"); child != nil {
		return child.GetUID()
	}
	return ""
}

// reconcileAgain changes fields that no template reads, and returns the resulting requests.
func (m *mistake) reconcileAgain() []string {
	for at := range m.Objects {
		if at.Resource.Resource == "templatecontrollers" || at.Resource.Resource == "apps" {
			m.KubectlEdit(at, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"look": "again"}) })
		}
	}
	return m.Settle()
}

// report lists all problems, one per line. An Event with the same message as the condition before it is shown as "and
// Event". Ready of the TemplateController is omitted, because it only repeats another condition.
func (m *mistake) report() string {
	var lines []string
	for _, kind := range []string{"Accepted", "Watching", "StatusWritable"} {
		if text := m.Condition("templatecontrollers", "apps", kind); !strings.HasPrefix(text, "True ") && !strings.Contains(text, " NotAccepted: ") {
			lines = append(lines, "TemplateController apps: "+kind+"="+text)
		}
	}
	said := slices.Compact(slices.Sorted(slices.Values(m.Events))) // they are repeated as time passes
	if text := m.Condition("apps", "one", "Ready"); !strings.HasPrefix(text, "True ") {
		_, why, _ := strings.Cut(text, " ")
		line := "App one: Ready=" + text
		if i := slices.Index(said, "one Warning "+why); i >= 0 {
			said = slices.Delete(said, i, i+1)
			line = "App one: Ready=False and Event " + why
		}
		lines = append(lines, line)
	}
	for _, event := range said {
		lines = append(lines, fmt.Sprintf("Event of %s", event))
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func (m *mistake) write(want string) {
	for i := range m.archive.Files {
		if m.archive.Files[i].Name == "bad/want" {
			m.archive.Files[i].Data = []byte(want)
		}
	}
	if err := os.WriteFile(m.file, txtar.Format(m.archive), 0o644); err != nil {
		m.T.Fatal(err)
	}
}
