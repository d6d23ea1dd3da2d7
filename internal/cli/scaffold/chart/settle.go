package chart

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/scaffold"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// kubeVersion is the Kubernetes version for charts that read it.
const kubeVersion = "v1.36.0"

// stable are API versions that all recent clusters have.
var stable = []string{
	"v1", "apps/v1", "batch/v1", "autoscaling/v1", "autoscaling/v2", "policy/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1",
	"storage.k8s.io/v1", "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1", "scheduling.k8s.io/v1", "coordination.k8s.io/v1",
	"discovery.k8s.io/v1", "events.k8s.io/v1", "node.k8s.io/v1", "certificates.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1",
}

// known returns the tested API versions that a cluster has.
func (r *rewriter) known() []any {
	all := []any{}
	for _, version := range slices.Sorted(maps.Keys(r.versions)) {
		gv := version
		if strings.Count(version, "/") == 2 { // with a kind
			gv = version[:strings.LastIndex(version, "/")]
		}
		if slices.Contains(stable, gv) {
			all = append(all, version)
		}
	}
	return all
}

// settle fills the TemplateController with the valid parts of the chart, and returns the omitted files.
func (c *chart) settle(tc *scaffold.Controller) (left []string, err error) {
	known, err := c.know()
	if err != nil {
		return nil, err
	}
	for {
		c.fill(tc)
		if len(tc.Children) == 0 {
			return nil, errors.New("no template of the chart can be converted" + c.firstNote())
		}
		parsed := &v1.TemplateController{}
		if err := yaml.UnmarshalStrict([]byte(tc.YAML()), parsed); err != nil {
			return nil, err
		}
		result := lint.Check(parsed, known.Schemas)
		wrong := slices.DeleteFunc(slices.Clone(result.Findings), func(f finding.Finding) bool {
			return f.Severity != finding.Error && f.Code != finding.NoObject
		})
		if len(wrong) == 0 {
			if c.unused(tc) {
				continue
			}
			c.scopes(tc, known.Kinds, result)
			removeMarks(tc)
			left = append(left, c.left...)
			slices.Sort(left)
			return slices.Compact(left), nil
		}
		files := c.drop(wrong)
		if len(files) == 0 {
			return nil, errors.New(wrong[0].String())
		}
		left = append(left, files...)
	}
}

// removeMarks removes the marks of hooks from all templates.
func removeMarks(tc *scaffold.Controller) {
	tc.Helpers = withoutMarks(tc.Helpers)
	for _, list := range [][]scaffold.Child{tc.Children, tc.Finals} {
		for i := range list {
			list[i].Template = withoutMarks(list[i].Template)
		}
	}
}

// unused removes unused helpers and values, and reports whether there were unused helpers.
func (c *chart) unused(tc *scaffold.Controller) (again bool) {
	texts := tc.Helpers
	for _, e := range c.entries {
		texts += e.Template
	}
	for name := range c.defines {
		if used := strings.Count(texts, strconv.Quote(name)) + strings.Count(texts, "`"+name+"`"); used < 2 { // the definition is one of them
			delete(c.defines, name)
			again = true
		}
	}
	todo, _ := tc.Values["todo"].(map[string]any)
	maps.DeleteFunc(todo, func(name string, _ any) bool { return !strings.Contains(texts, ".values.todo."+name) })
	maps.DeleteFunc(tc.Values, func(name string, _ any) bool { return !strings.Contains(texts, ".values."+name) })
	return again
}

func (c *chart) firstNote() string {
	if len(c.notes) == 0 {
		return ""
	}
	return ": " + c.notes[0].String()
}

// fill adds the remaining parts to the TemplateController.
func (c *chart) fill(tc *scaffold.Controller) {
	tc.Helpers, tc.Children, tc.Finals = "", nil, nil
	for _, name := range slices.Sorted(maps.Keys(c.defines)) {
		tc.Helpers += c.defines[name].text + "\n"
	}
	for _, e := range c.entries {
		if e.final {
			tc.Finals = append(tc.Finals, e.Child)
		} else {
			tc.Children = append(tc.Children, e.Child)
		}
	}
}

// drop removes the parts with findings, adds notes, and returns their files. Findings have line numbers of the helpers as
// they are, so each is mapped to its define block before any is removed.
func (c *chart) drop(wrong []finding.Finding) (files []string) {
	defines, entries := map[string]bool{}, map[string]bool{}
	for _, f := range wrong {
		note, what := scaffold.Note{Message: f.Message}, "the template"
		if f.Where == "helpers" {
			name, line := c.defineAt(f.Line)
			d, found := c.defines[name]
			if !found || defines[name] {
				continue
			}
			defines[name] = true
			note.File, note.Line, what = d.file, d.line+line, "define "+name
		} else {
			i := slices.IndexFunc(c.entries, func(e entry) bool { return syntax.ChildName(e.Name) == f.Where })
			if i < 0 || entries[c.entries[i].Name] {
				continue
			}
			e := c.entries[i]
			entries[e.Name] = true
			note.File, note.Line = e.file, max(e.first, e.first+f.Line-1)
		}
		c.leftOut(note, what)
		files = append(files, note.File)
	}
	maps.DeleteFunc(c.defines, func(name string, _ define) bool { return defines[name] })
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return entries[e.Name] })
	return files
}

// defineAt returns the define block that contains a line of the helpers, and the line in it, from 0; "" = none.
func (c *chart) defineAt(line int) (name string, at int) {
	first := 1
	for _, name := range slices.Sorted(maps.Keys(c.defines)) {
		height := 1 + strings.Count(c.defines[name].text, "\n")
		if line < first+height {
			return name, line - first
		}
		first += height
	}
	return "", 0
}

// leftOut adds a note about an omission, or extends an existing note about its reason.
func (c *chart) leftOut(n scaffold.Note, what string) {
	for i, known := range c.notes {
		if known.File == n.File && known.Line == n.Line && strings.HasSuffix(known.Message, notThere) {
			c.notes[i].Message += "; " + what + " is skipped"
			return
		}
	}
	n.Message += "; " + what + " is skipped"
	c.notes = append(c.notes, n)
}

// isDefinition reports whether a file of the chart is for CustomResourceDefinitions.
func isDefinition(name string) bool {
	return strings.HasPrefix(name, "crds/") && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// know returns the schemas of the kinds of the chart. Unreadable documents of the chart define no kinds.
func (c *chart) know() (*lint.Known, error) {
	var sets []*manifest.Set
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if isDefinition(name) {
			set, _ := manifest.Parse(name, c.files[name])
			sets = append(sets, set)
		}
	}
	return lint.Know(sets...)
}

// scopes sets scope Cluster on child templates with cluster-scoped objects.
func (c *chart) scopes(tc *scaffold.Controller, kinds kind.Declared, result lint.Result) {
	for _, list := range [][]scaffold.Child{tc.Children, tc.Finals} {
		for i := range list {
			yields, _ := outline.Yields(result.Compiled.Program, list[i].Name)
			for _, y := range yields {
				gv, _ := schema.ParseGroupVersion(y.APIVersion) // an invalid one has no kinds
				if of, err := kinds.Resolve(gv.WithKind(y.Kind)); err == nil && !of.Namespaced {
					list[i].Cluster = true
				}
			}
		}
	}
}
