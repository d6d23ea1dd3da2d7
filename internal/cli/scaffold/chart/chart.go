// Package chart converts a Helm chart to an initial TemplateController, and lists what it could not convert, with its place in the chart.
package chart

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/scaffold"
	"github.com/templater-dev/templater/internal/kube/kind"
)

// chart is a chart in a directory.
type chart struct {
	meta struct {
		Name, Version, AppVersion, Description, Type string
		Dependencies                                 []struct{ Name, Alias string }
	}
	files   map[string]string // by path in the directory
	notes   []scaffold.Note
	defines map[string]define
	entries []entry
	left    []string // files that cannot become a child template
}

// entry is a template of the chart, and its place.
type entry struct {
	scaffold.Child
	file  string
	first int // first line of the template in the file, from 1
	final bool
}

// Convert reads a chart from a directory. Templater accepts the result, which contains as much of the chart as that
// allows. The notes list the rest. separate: see scaffold.NewKind.
func Convert(fsys fs.FS, gvk schema.GroupVersionKind, separate bool) (*scaffold.Result, error) {
	c, err := load(fsys)
	if err != nil {
		return nil, err
	}
	if gvk.Kind == "" {
		name := scaffold.EntryName(c.meta.Name)
		gvk.Kind = strings.ToUpper(name[:1]) + name[1:]
	}
	if err := scaffold.CheckKind(gvk); err != nil {
		return nil, err
	}
	r := newRewriter(c.meta.Name, c.files)
	c.parts(r)
	spec, defaults, err := c.values(r)
	if err != nil {
		return nil, err
	}
	tc := scaffold.Controller{
		Name: kind.Plural(gvk.Kind), GVK: gvk, CRD: scaffold.CRDOf(spec, nil), Values: c.valuesOf(r),
		Comment: fmt.Sprintf("Generated from the Helm chart %s %s. .Values is now .spec: each %s corresponds to a release.", c.meta.Name, c.meta.Version, gvk.Kind),
	}
	c.notes = append(c.notes, r.notes...)
	left, err := c.settle(&tc)
	if err != nil {
		return nil, err
	}
	return c.result(&tc, defaults, left, separate)
}

// result assembles the files.
func (c *chart) result(tc *scaffold.Controller, defaults map[string]any, left []string, separate bool) (*scaffold.Result, error) {
	files, applied, err := scaffold.NewKind(tc, defaults, separate)
	if err != nil {
		return nil, err
	}
	out := &scaffold.Result{Files: files}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if isDefinition(name) {
			out.Files = append(out.Files, scaffold.File{Name: name, Content: c.files[name]})
			applied = append(applied, name)
		}
	}
	for _, name := range left {
		out.Files = append(out.Files, scaffold.File{Name: "skipped/" + name + ".txt", Content: c.files[name]})
	}
	out.Files = append(out.Files, scaffold.File{Name: "kustomization.yaml", Content: scaffold.Kustomization(applied...)})
	slices.SortStableFunc(c.notes, func(a, b scaffold.Note) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
	out.Notes = slices.Compact(c.notes)
	return out, nil
}

// in adds the file to an error.
func in(file string, err error) error { return fmt.Errorf("%s: %w", file, err) }

func (c *chart) note(file, message string) {
	c.notes = append(c.notes, scaffold.Note{File: file, Message: message})
}

var keeps = regexp.MustCompile(`["']?helm\.sh/resource-policy["']?\s*:\s*["']?keep`)

// parts classifies the files of the chart: helpers, templates, and files that are not converted.
func (c *chart) parts(r *rewriter) {
	c.dependencies(r)
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		below, isTemplate := strings.CutPrefix(name, "templates/")
		switch {
		case !isTemplate:
		case path.Base(name) == "NOTES.txt":
			c.note(name, "notes are for the user who installs a chart: write a status template (spec.status.template) instead")
		case strings.HasPrefix(below, "tests/"):
			c.note(name, "release tests are skipped: see templater test")
		case strings.HasPrefix(path.Base(name), "_") || slices.Contains([]string{".yaml", ".yml", ".tpl", ".json"}, path.Ext(name)):
			c.template(r, name, strings.TrimSuffix(below, path.Ext(below)), taken)
		default:
			c.note(name, "it does not render objects: skipped")
		}
	}
	for name := range r.included { // as a file: checksums of other templates
		for i, e := range c.entries {
			if e.final || strings.TrimPrefix(e.file, "templates/") != name {
				continue
			}
			c.defines[name] = define{name, fmt.Sprintf("{{ define %q }}%s{{ end }}", name, c.entries[i].Template), e.file, e.first}
			c.entries[i].Template = fmt.Sprintf("{{ template %q . }}\n", name)
		}
	}
}

// template converts one file below templates.
func (c *chart) template(r *rewriter, file, name string, taken map[string]bool) {
	defines, rest := split(file, c.files[file])
	for _, d := range defines {
		if old, twice := c.defines[d.name]; twice {
			c.notes = append(c.notes, scaffold.Note{File: old.file, Line: old.line, Message: fmt.Sprintf("define %q is overridden by the one in %s", d.name, file)})
		}
		d.text = r.rewriteAt(file, d.text, d.line)
		c.defines[d.name] = d
	}
	if strings.HasPrefix(path.Base(file), "_") || strings.TrimSpace(rest) == "" {
		return
	}
	lead := len(rest) - len(strings.TrimLeft(rest, "\n"))
	parts, ok := byHook(rest[lead:])
	if !ok {
		c.note(file, "the hook "+momentsOf(rest)+" shares a block or a variable of the template with other objects: split the file; skipped")
		c.left = append(c.left, file)
		return
	}
	for _, part := range parts {
		c.entry(r, entry{file: file, first: 1 + lead}, name, part, taken)
	}
}

// entry adds a child template for a template whose objects all have the same hook, or none.
func (c *chart) entry(r *rewriter, e entry, name, template string, taken map[string]bool) {
	if moments := momentsOf(template); moments != "" {
		if !strings.Contains(moments, "-delete") {
			c.note(e.file, "the hook "+moments+" is skipped: make its objects a child template, and list it in dependsOn of the others")
			return
		}
		c.note(e.file, "the hook "+moments+" is converted to spec.finalize.children: its objects are created when the parent is deleted"+alsoBefore(moments))
		e.final = true
		template = hookLine.ReplaceAllLiteralString(template, hookMark)
	}
	if keeps.MatchString(template) {
		c.note(e.file, "helm.sh/resource-policy: keep was converted to prunePolicy: Orphan and deletionPolicy: Orphan, for all objects of the file")
		e.Keep = true
	}
	e.Template = r.rewriteAt(e.file, template, e.first)
	e.Name = scaffold.Unique(scaffold.EntryName(name), taken)
	e.Comment = e.file
	c.entries = append(c.entries, e)
}

// rewriteAt is rewrite for a text that begins at a line of a file.
func (r *rewriter) rewriteAt(file, text string, line int) string {
	before := len(r.notes)
	text = r.rewrite(file, text)
	for i := before; i < len(r.notes); i++ {
		r.notes[i].Line += line - 1
	}
	return text
}

// dependencies adds the helpers of library charts, and adds notes for other charts.
func (c *chart) dependencies(r *rewriter) {
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		inner, below := strings.CutPrefix(name, "charts/")
		of, file, _ := strings.Cut(inner, "/")
		if !below || file != "Chart.yaml" {
			continue
		}
		known[of] = true
		var meta struct{ Type string }
		if err := yaml.Unmarshal([]byte(c.files[name]), &meta); err != nil || meta.Type != "library" {
			c.note("charts/"+of, "the subchart is skipped: convert it separately, and make an object of its kind a child")
			continue
		}
		for _, helper := range slices.Sorted(maps.Keys(c.files)) {
			if strings.HasPrefix(helper, "charts/"+of+"/templates/_") {
				c.template(r, helper, "", nil)
			}
		}
	}
	for _, d := range c.meta.Dependencies {
		if !known[d.Name] {
			c.note("Chart.yaml", "the dependency "+d.Name+" is not in charts: fetch it (helm dependency build), or remove it")
		}
	}
}

// valuesOf returns spec.values for the data that templates read besides the parent.
func (c *chart) valuesOf(r *rewriter) map[string]any {
	values := map[string]any{}
	of := map[string]string{"name": c.meta.Name, "version": c.meta.Version, "appVersion": c.meta.AppVersion, "description": c.meta.Description, "type": c.meta.Type}
	about := map[string]any{}
	for key := range r.chartKey {
		about[key] = of[key]
	}
	if len(about) > 0 {
		values["chart"] = about
	}
	if r.kube {
		values["kubeVersion"] = kubeVersion
		c.note("Chart.yaml", "the Kubernetes version is not detected: set spec.values.kubeVersion")
	}
	if len(r.versions) > 0 {
		values["apiVersions"] = r.known()
		c.note("Chart.yaml", "API versions are not detected: correct spec.values.apiVersions")
	}
	if len(r.read) > 0 {
		values["files"] = c.readable(r)
	}
	if len(r.todo) > 0 {
		todo := map[string]any{}
		for name := range r.todo {
			todo[name] = nil
		}
		values["todo"] = todo
	}
	return values
}

// readable returns the files that templates read with .Files.
func (c *chart) readable(r *rewriter) map[string]any {
	files := map[string]any{}
	for name, text := range c.files {
		top, _, _ := strings.Cut(name, "/")
		own := slices.Contains([]string{"templates", "charts", "crds", "Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json"}, top)
		if r.read[name] || r.read[""] && !own {
			files[name] = text
		}
	}
	for name := range r.read {
		if _, found := c.files[name]; !found && name != "" {
			c.note(name, "templates read this file, but it does not exist")
		}
	}
	return files
}
