package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/scaffold"
	types "github.com/templater-dev/templater/internal/schema"
)

// kubeVersion is what charts are told that ask for the version of Kubernetes.
const kubeVersion = "v1.36.0"

// stable are the API versions that each cluster has of late.
var stable = []string{
	"v1", "apps/v1", "batch/v1", "autoscaling/v1", "autoscaling/v2", "policy/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1",
	"storage.k8s.io/v1", "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1", "scheduling.k8s.io/v1", "coordination.k8s.io/v1",
	"discovery.k8s.io/v1", "events.k8s.io/v1", "node.k8s.io/v1", "certificates.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1",
}

// known returns those that are asked for and that a cluster has.
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

// settle fills the TemplateController with what of the chart is right, and returns the files that are left out.
func (c *chart) settle(tc *scaffold.Controller, d *scaffold.Definition) (left []string, err error) {
	schemas, err := c.schemas(d)
	if err != nil {
		return nil, err
	}
	for {
		c.fill(tc)
		if len(tc.Children) == 0 {
			return nil, errors.New("no template of the chart can be carried over" + c.firstNote())
		}
		parsed := &v1.TemplateController{}
		if err := yaml.UnmarshalStrict([]byte(tc.YAML()), parsed); err != nil {
			return nil, err
		}
		result := lint.Check(parsed, schemas)
		wrong := finding.Of(finding.Error, result.Findings)
		if len(wrong) == 0 {
			if c.unused(tc) {
				continue
			}
			c.scopes(tc, result)
			slices.Sort(left)
			return slices.Compact(left), nil
		}
		progress := false
		for _, f := range wrong {
			if file := c.drop(f); file != "" {
				left, progress = append(left, file), true
			}
		}
		if !progress {
			return nil, errors.New(wrong[0].String())
		}
	}
}

// unused leaves out helpers and values that no template uses, and reports whether there were such helpers.
func (c *chart) unused(tc *scaffold.Controller) (again bool) {
	texts := tc.Helpers
	for _, e := range c.entries {
		texts += e.Template
	}
	for name := range c.defines {
		if used := strings.Count(texts, strconv.Quote(name)) + strings.Count(texts, "`"+name+"`"); used < 2 { // its own is one
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

// fill puts the parts that are left into the TemplateController.
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

// drop leaves out what a finding is about, with a note, and returns the file that it is from; "" means that there is none.
func (c *chart) drop(f finding.Finding) string {
	if f.Where == "helpers" {
		line := 1
		for _, name := range slices.Sorted(maps.Keys(c.defines)) {
			d := c.defines[name]
			height := 1 + strings.Count(d.text, "\n")
			if f.Line < line+height {
				delete(c.defines, name)
				c.leftOut(scaffold.Note{File: d.file, Line: d.line + f.Line - line, Message: f.Message}, "define "+name)
				return d.file
			}
			line += height
		}
		return ""
	}
	for i, e := range c.entries {
		if syntax.ChildName(e.Name) == f.Where {
			c.entries = slices.Delete(c.entries, i, i+1)
			c.leftOut(scaffold.Note{File: e.file, Line: max(e.first, e.first+f.Line-1), Message: f.Message}, "the template")
			return e.file
		}
	}
	return ""
}

// leftOut notes that something is left out. Where there is a note of the reason already, that one says so.
func (c *chart) leftOut(n scaffold.Note, what string) {
	for i, known := range c.notes {
		if known.File == n.File && known.Line == n.Line && strings.HasSuffix(known.Message, notThere) {
			c.notes[i].Message += "; " + what + " is left out"
			return
		}
	}
	n.Message += "; " + what + " is left out"
	c.notes = append(c.notes, n)
}

// definitions returns the CustomResourceDefinitions of the chart.
func (c *chart) definitions() []map[string]any {
	var all []map[string]any
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		var definition map[string]any
		if strings.HasPrefix(name, "crds/") && yaml.Unmarshal([]byte(c.files[name]), &definition) == nil && definition["kind"] == "CustomResourceDefinition" {
			all = append(all, definition)
		}
	}
	return all
}

// schemas returns what is known of the kinds of the chart, and of the parents.
func (c *chart) schemas(d *scaffold.Definition) (types.Set, error) {
	var all []types.Set
	for _, content := range append(c.definitions(), d.Content()) {
		text, err := json.Marshal(content)
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err == nil {
			err = json.Unmarshal(text, definition)
		}
		if err != nil {
			return nil, fmt.Errorf("a CustomResourceDefinition cannot be read: %w", err)
		}
		all = append(all, types.FromCRD(definition))
	}
	return types.Join(append(all, types.BuiltIn())...), nil
}

// scopes gives those entries scope Cluster whose objects have no namespace.
func (c *chart) scopes(tc *scaffold.Controller, result lint.Result) {
	kinds := kind.Declared(c.definitions())
	for _, list := range [][]scaffold.Child{tc.Children, tc.Finals} {
		for i := range list {
			yields, _ := result.Compiled.Program.Yields(list[i].Name)
			for _, y := range yields {
				gv, err := schema.ParseGroupVersion(y.APIVersion)
				if err != nil {
					continue
				}
				if of, err := kinds.Resolve(gv.WithKind(y.Kind)); err == nil && !of.Namespaced {
					list[i].Cluster = true
				}
			}
		}
	}
}
