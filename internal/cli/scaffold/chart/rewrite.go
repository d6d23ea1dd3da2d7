package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/cli/scaffold"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// edit replaces a part of a template.
type edit struct {
	start, end int
	with       string
}

// rewriter rewrites the actions of templates from Helm's objects to those of templater. It records what they read.
type rewriter struct {
	chart    string
	files    map[string]string // files of the chart that templates can read
	values   map[string][]bool // paths below .Values that are read
	chartKey map[string]bool   // of Chart.yaml
	kube     bool              // the Kubernetes version is read
	versions map[string]bool   // API versions that are tested
	read     map[string]bool   // files that are read; "" = any
	included map[string]bool   // templates that are included by file name
	todo     map[string]bool   // unsupported functions
	notes    []scaffold.Note
	refused  map[string]string // why functions are unsupported
}

func newRewriter(chart string, files map[string]string) *rewriter {
	r := &rewriter{
		chart: chart, files: files, values: map[string][]bool{}, chartKey: map[string]bool{}, versions: map[string]bool{}, read: map[string]bool{},
		included: map[string]bool{}, todo: map[string]bool{}, refused: map[string]string{},
	}
	for _, f := range syntax.Refused() {
		r.refused[f.Name] = f.Refused
	}
	return r
}

// rewrite converts a template of a file, keeping its lines.
func (r *rewriter) rewrite(file, template string) string {
	var edits []edit
	for _, a := range actions(template) {
		line := 1 + strings.Count(template[:a.start], "\n")
		note := func(at int, message string) {
			r.notes = append(r.notes, scaffold.Note{File: file, Line: line + strings.Count(template[a.start:a.tokens[at].start], "\n"), Message: message})
		}
		if text := version(template, &a); text != "" {
			edits = append(edits, edit{a.start, a.end, text})
			continue
		}
		for i := 0; i < len(a.tokens); {
			i = r.token(&a, i, &edits, note)
		}
	}
	var out strings.Builder
	last := 0
	for _, e := range edits {
		out.WriteString(template[last:e.start])
		out.WriteString(e.with)
		out.WriteString(strings.Repeat("\n", strings.Count(template[e.start:e.end], "\n")))
		last = e.end
	}
	out.WriteString(template[last:])
	return out.String()
}

// apiVersion matches an apiVersion.
var apiVersion = regexp.MustCompile(`^([a-z0-9.-]+/)?v[0-9]+([a-z]+[0-9]+)?$`)

// version returns the literal apiVersion for an action that prints one, since templater requires a literal; "" for any
// other action. Comments trim the white space that the action does, unless the actions around it do.
func version(template string, a *action) string {
	if len(a.tokens) != 2 || a.tokens[0].value != "print" && a.tokens[0].value != "printf" || a.tokens[1].kind != textToken {
		return ""
	}
	text := strings.Trim(a.tokens[1].value, "\"`")
	if !apiVersion.MatchString(text) {
		return ""
	}
	before, after := template[:a.start], template[a.end:]
	outer, rest := strings.TrimRight(before, " \t\r\n"), strings.TrimLeft(after, " \t\r\n")
	if strings.HasPrefix(template[a.start:], "{{-") && len(outer) < len(before) && !strings.HasSuffix(outer, "-}}") {
		text = "{{- /**/}}" + text
	}
	if strings.HasSuffix(template[:a.end], "-}}") && len(rest) < len(after) && !strings.HasPrefix(rest, "{{-") {
		text += "{{/**/ -}}"
	}
	return text
}

// token rewrites the expression at token i, and returns the index after it.
func (r *rewriter) token(a *action, i int, edits *[]edit, note func(int, string)) int {
	t := a.tokens[i]
	replace := func(to int, with string) int {
		*edits = append(*edits, edit{t.start, a.tokens[to-1].end, with})
		return to
	}
	switch {
	case t.value == "tpl":
		first := a.operand(i + 1)
		second := a.operand(first)
		if first >= len(a.tokens) || second > a.command(i) { // at the end of a pipeline
			break
		}
		note(i, "tpl: "+r.refused["tpl"]+"; its argument is copied unchanged")
		*edits = append(*edits, edit{t.start, a.tokens[i+1].start, ""})
		for j := i + 1; j < first; {
			j = r.token(a, j, edits, note)
		}
		*edits = append(*edits, edit{a.tokens[first-1].end, a.tokens[second-1].end, ""})
		return second
	case t.value == "lookup":
		note(i, "lookup: "+r.refused["lookup"]+"; it is replaced by an empty dict")
		return replace(a.command(i), "dict")
	case r.refused[t.value] != "" && (i == 0 || a.tokens[i-1].value != "|"):
		r.todo[t.value] = true
		note(i, t.value+": "+r.refused[t.value]+"; set spec.values.todo."+t.value+" unless it is confidential: many users can read a TemplateController")
		return replace(a.command(i), r.missing(a, i))
	case t.value == "(" && i+4 < len(a.tokens) && a.tokens[i+1].value == "print" && strings.HasSuffix(a.tokens[i+2].value, ".Template.BasePath") && a.tokens[i+3].kind == textToken && a.tokens[i+4].value == ")":
		name := strings.Trim(a.tokens[i+3].value, "\"/`")
		r.included[name] = true
		return replace(i+5, strconv.Quote(name))
	case t.kind == pathToken:
		return r.path(a, i, replace, note)
	}
	return i + 1
}

// missing replaces the call of an unsupported function.
func (r *rewriter) missing(a *action, i int) string {
	value := "$.values.todo." + a.tokens[i].value
	if i > 1 && a.tokens[i-1].value == "(" && funcs.Allowed()[a.tokens[i-2].value].Is(syntax.FallsBack) {
		return value
	}
	return fmt.Sprintf("required %q %s", "set spec.values.todo."+a.tokens[i].value, value)
}

// builtIns are the root objects of Helm.
var builtIns = []string{"Values", "Release", "Chart", "Capabilities", "Files", "Template", "Subcharts"}

// notThere ends a note about an unsupported feature.
const notThere = " is not supported"

// path rewrites a path through an object of Helm.
func (r *rewriter) path(a *action, i int, replace func(int, string) int, note func(int, string)) int {
	parts := strings.Split(a.tokens[i].value, ".")
	at := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(builtIns, part) })
	if at < 0 {
		return i + 1
	}
	head, rest := strings.Join(parts[:at], "."), parts[at+1:]
	key := strings.Join(rest, ".")
	switch parts[at] {
	case "Values":
		r.values[key] = append(r.values[key], true)
		return replace(i+1, strings.Join(append([]string{head, "spec"}, rest...), "."))
	case "Release":
		if with, message := release(head, key); with != "" {
			if message != "" {
				note(i, a.tokens[i].value+": "+message)
			}
			return replace(i+1, with)
		}
	case "Chart":
		if len(rest) == 1 {
			name := strings.ToLower(rest[0][:1]) + rest[0][1:]
			r.chartKey[name] = true
			return replace(i+1, head+".values.chart."+name)
		}
	case "Capabilities":
		if to := r.capability(a, i, head, key, replace); to > 0 {
			return to
		}
	case "Files":
		if key == "Get" && i+1 < len(a.tokens) {
			r.reads(a.tokens[i+1])
			return replace(i+1, "index "+head+".values.files")
		}
	case "Template":
		if key == "Name" {
			return replace(i+1, strconv.Quote(r.chart))
		}
	}
	note(i, a.tokens[i].value+notThere)
	return i + 1
}

// capability rewrites an access to .Capabilities, and returns the index after it, or 0.
func (r *rewriter) capability(a *action, i int, head, key string, replace func(int, string) int) int {
	switch {
	case key == "KubeVersion" || key == "KubeVersion.Version" || key == "KubeVersion.GitVersion":
		r.kube = true
		return replace(i+1, head+".values.kubeVersion")
	case key == "APIVersions.Has" && i+1 < len(a.tokens) && a.tokens[i+1].kind == textToken:
		r.versions[strings.Trim(a.tokens[i+1].value, "\"`")] = true
		return replace(i+2, "has "+a.tokens[i+1].value+" "+head+".values.apiVersions")
	}
	return 0
}

// reads records which file is read; a computed name can be any file.
func (r *rewriter) reads(name token) {
	if name.kind == textToken {
		r.read[strings.Trim(name.value, "\"`")] = true
	} else {
		r.read[""] = true
	}
}

// release returns the replacement for a field of .Release, and a note about it.
func release(head, key string) (with, message string) {
	switch key {
	case "Name":
		return head + ".metadata.name", ""
	case "Namespace":
		return head + ".metadata.namespace", ""
	case "Service":
		return `"templater"`, ""
	case "Revision":
		return head + ".metadata.generation", "this is now metadata.generation of the parent"
	case "IsInstall":
		return "true", "templates are rendered continuously: it is always true"
	case "IsUpgrade":
		return "false", "templates are rendered continuously: it is always false"
	}
	return "", ""
}
