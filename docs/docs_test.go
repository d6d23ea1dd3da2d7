// Package docs tests that the pages say what the code does.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/operator/metrics"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// root is the top of the repository.
const root = ".."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reasons returns the values of the constants named Reason… in the API.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api/v1/status.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
		return true
	})
	if len(values) == 0 {
		t.Fatal("no reasons found")
	}
	return values
}

func TestEveryReasonIsDocumented(t *testing.T) {
	page := read(t, "docs/reference/reasons.md")
	fine := map[string]bool{
		v1.ReasonAccepted: true, v1.ReasonWatching: true, v1.ReasonStatusWritable: true, v1.ReasonParentsReady: true, v1.ReasonReady: true,
	}
	for _, reason := range reasons(t) {
		if !fine[reason] && !strings.Contains(page, "\n### "+reason+"\n") {
			t.Errorf("docs/reference/reasons.md has no heading %s", reason)
		}
	}
}

var (
	// beginning is what a page begins with, up to its first paragraph.
	beginning = regexp.MustCompile(`(?m)^# .*\n\n`)
	// alike are pages of one kind, whose index says for whom they are.
	alike = regexp.MustCompile(`^docs/contributing/decisions/[0-9]`)
)

// TestEveryPageNamesItsAudience holds pages to begin with their readers, and indexes to have all pages of their folder.
func TestEveryPageNamesItsAudience(t *testing.T) {
	count := 0
	err := fs.WalkDir(os.DirFS(root), "docs", func(page string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "cases"):
			return fs.SkipDir
		case path.Ext(page) != ".md" || page == "docs/README.md":
			return nil
		}
		count++
		folder, self := path.Split(page)
		if self == "README.md" {
			folder, self = path.Dir(path.Clean(folder)), path.Base(folder)+"/README.md"
		}
		if index := path.Join(folder, "README.md"); !strings.Contains(read(t, index), "]("+self) {
			t.Errorf("%s has no link to %s", index, page)
		}
		text := read(t, page)
		if at := beginning.FindStringIndex(text); at == nil || !strings.HasPrefix(text[at[1]:], "For ") && !alike.MatchString(page) {
			t.Errorf("%s: begin it with a heading, its readers and what they get, such as: For authors: how to …", page)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		t.Error("no pages found")
	}
}

var link = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)

func TestLinksResolve(t *testing.T) {
	count := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && name != root:
			return fs.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target, anchor := match[1], match[2]
			if strings.Contains(target, "://") {
				continue
			}
			count++
			to := filepath.Join(filepath.Dir(name), target)
			if target == "" {
				to = name
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", name, target)
			} else if anchor != "" && !hasHeading(t, to, anchor) {
				t.Errorf("%s links to %s%s, but there is no such heading", name, target, anchor)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count == 0 {
		t.Error("no links found")
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 -]`)

// hasHeading reports whether a page has the heading that the anchor names.
func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		slug := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
		if "#"+slug == anchor {
			return true
		}
	}
	return false
}

func TestReadmeExampleRenders(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "README.md"), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	var tc v1.TemplateController
	if err := yaml.Unmarshal([]byte(text), &tc); err != nil || len(tc.Spec.Children) != 1 {
		t.Fatalf("got %d children and error %v, want one", len(tc.Spec.Children), err)
	}
	program, err := render.Compile(render.Source{
		Controller: tc.Name,
		Children:   []syntax.Template{{Name: tc.Spec.Children[0].Name, Text: tc.Spec.Children[0].Template}},
		Status:     tc.Spec.Status.Template,
	})
	if err != nil {
		t.Fatal(err)
	}
	in := &render.Input{Parent: map[string]any{"metadata": map[string]any{"name": "a"}}}
	if objects, err := program.Child("pod", in); err != nil || len(objects) != 1 {
		t.Errorf("got %d objects and error %v, want one", len(objects), err)
	}
	if _, err := program.Status(in); err != nil {
		t.Error(err)
	}
}

var alertName = regexp.MustCompile(`\bTemplater[A-Z][A-Za-z]+\b`)

func TestEveryAlertIsDocumented(t *testing.T) {
	named := func(path string) []string {
		all := alertName.FindAllString(read(t, path), -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	if diff := cmp.Diff(named("config/prometheus/rules.yaml"), named("docs/operate/metrics.md")); diff != "" {
		t.Errorf("alerts in config/prometheus and in docs/operate/metrics.md (-rules +page):\n%s", diff)
	}
}

var runbook = regexp.MustCompile(`(?m)^ *runbook_url: https://github\.com/templater-dev/templater/blob/main/(\S+\.md)(#\S+)$`)

func TestEveryAlertHasRunbook(t *testing.T) {
	rules := strings.Split(read(t, "config/prometheus/rules.yaml"), "    - alert: ")[1:]
	for _, rule := range rules {
		name, _, _ := strings.Cut(rule, "\n")
		m := runbook.FindStringSubmatch(rule)
		if m == nil {
			t.Errorf("%s has no runbook_url that leads to a page of ours", name)
			continue
		}
		if m[2] != "#"+strings.ToLower(name) || !hasHeading(t, filepath.Join(root, m[1]), m[2]) {
			t.Errorf("%s: %s has no part %s about it", name, m[1], m[2])
		}
	}
	if len(rules) == 0 {
		t.Error("there are no alerts")
	}
}

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram)(?:; ([a-z, ]+))? \\|")
	metricDesc = regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z,]*)\}`)
)

func TestEveryMetricIsDocumented(t *testing.T) {
	told := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(read(t, "docs/operate/metrics.md"), -1) {
		told[row[1]] = strings.ReplaceAll(row[3], " ", "")
	}
	registry := metrics.New()
	registry.Watches(nil, nil)
	found := make(chan *prometheus.Desc, 1000)
	registry.Describe(found)
	close(found)
	measured := map[string]string{}
	for d := range found {
		m := metricDesc.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		if !strings.HasPrefix(m[1], "go_") && !strings.HasPrefix(m[1], "process_") {
			measured[m[1]] = m[2]
		}
	}
	measured["templater_build_info"] = "version,revision,goversion" // which never change
	if diff := cmp.Diff(measured, told); diff != "" {
		t.Errorf("metrics and their labels in the code and in docs/operate/metrics.md (-code +page):\n%s", diff)
	}
}
