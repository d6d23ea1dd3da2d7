package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/files"
	"github.com/templater-dev/templater/internal/manifest"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/simulate"
)

// world is what a case is about, as it is after the steps so far.
type world struct {
	controller string
	simulator  *simulate.Simulator
	state      simulate.State
}

// open reads the files of a case.
func (c *Case) open() (*world, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	set, err := manifest.LoadControllers(paths, noInput)
	if err != nil {
		return nil, err
	}
	tc, err := c.choose(set)
	if err != nil {
		return nil, err
	}
	known, err := files.Know(set)
	if err != nil {
		return nil, err
	}
	checked := lint.Check(tc.TemplateController, known.Schemas)
	if checked.Rejection != nil {
		return nil, &manifest.Error{File: tc.File, Line: tc.Line, Message: checked.Rejection.Message}
	}
	s, rejection := simulate.New(tc.TemplateController, checked.Compiled, manifest.Contents(set.CRDs))
	if rejection != nil {
		return nil, &manifest.Error{File: tc.File, Line: tc.Line, Message: rejection.Message}
	}
	if err := c.checkReady(tc.TemplateController.Spec.Children); err != nil {
		return nil, err
	}
	w := &world{controller: tc.TemplateController.Name, simulator: s, state: simulate.State{Now: c.Time}}
	parents, err := c.load([]string{c.Parent})
	if err != nil {
		return nil, err
	}
	if len(parents) != 1 {
		return nil, fmt.Errorf("%s: %d objects, want one: the parent", filepath.Join(c.Folder, c.Parent), len(parents))
	}
	w.state.Parent = parents[0]
	if w.state.Objects, err = c.load(c.Objects); err != nil {
		return nil, err
	}
	w.state.Related, err = c.load(c.Related)
	return w, err
}

// checkReady returns an error if a step has an entry become ready that is not there.
func (c *Case) checkReady(children []v1.Child) error {
	var names []string
	for _, child := range children {
		names = append(names, child.Name)
	}
	for i, step := range c.Steps {
		for _, name := range step.Ready {
			if slices.Contains(names, name) {
				continue
			}
			hint := ""
			if nearest := syntax.Nearest(name, names); nearest != "" {
				hint = "; did you mean " + nearest + "?"
			}
			return fmt.Errorf("%s: steps[%d].ready: spec.children has no entry %q%s", filepath.Join(c.Folder, File), i, name, hint)
		}
	}
	return nil
}

// noInput is for those who read no standard input: "-" is a file's name nowhere.
var noInput io.Reader = strings.NewReader("")

func (c *Case) load(files []string) ([]map[string]any, error) {
	var paths []string
	for _, file := range files {
		paths = append(paths, filepath.Join(c.Folder, file))
	}
	set, err := manifest.Load(paths, noInput)
	if err != nil {
		return nil, err
	}
	return set.Contents(), nil
}

// paths returns where the TemplateController and the definitions are.
func (c *Case) paths() ([]string, error) {
	if len(c.Files) > 0 {
		var paths []string
		for _, file := range c.Files {
			paths = append(paths, filepath.Join(c.Folder, file))
		}
		return paths, nil
	}
	folder, err := filepath.Abs(c.Folder)
	if err != nil {
		return nil, err
	}
	for at := c.Folder; ; at, folder = filepath.Join(at, ".."), filepath.Dir(folder) {
		if file := filepath.Join(at, "templatecontroller.yaml"); exists(file) {
			if crd := filepath.Join(at, "crd.yaml"); exists(crd) {
				return []string{file, crd}, nil
			}
			return []string{file}, nil
		}
		if folder == filepath.Dir(folder) {
			return nil, fmt.Errorf("%s: no templatecontroller.yaml in this folder, or above: give files", filepath.Join(c.Folder, File))
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// choose returns the TemplateController of the case.
func (c *Case) choose(set *manifest.Set) (*manifest.Controller, error) {
	file := filepath.Join(c.Folder, File)
	switch {
	case c.Controller != "":
		if tc := set.Named(c.Controller); tc != nil {
			return tc, nil
		}
		return nil, fmt.Errorf("%s: controller: there is no TemplateController %s", file, c.Controller)
	case len(set.Controllers) > 1:
		return nil, fmt.Errorf("%s: there are %d TemplateControllers: say by controller which one is meant", file, len(set.Controllers))
	}
	return set.Controllers[0], nil
}

// happen makes the changes of a step.
func (w *world) happen(s Step) error {
	after, _ := time.ParseDuration(s.After) // which was read before
	w.state.Now = w.state.Now.Add(after)
	if s.Parent != nil {
		before := w.state.Parent
		w.state.Parent = simulate.Patch(before, numbers(s.Parent))
		simulate.CountGeneration(before, w.state.Parent)
	}
	if s.Logs != nil {
		w.state.Logs = s.Logs
	}
	for _, o := range s.Observe {
		if err := w.put(&w.state.Objects, o); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
	}
	for _, o := range s.Related {
		if err := w.put(&w.state.Related, o); err != nil {
			return fmt.Errorf("related: %w", err)
		}
	}
	for _, o := range s.Remove {
		id, err := w.id(o)
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		before := len(w.state.Objects) + len(w.state.Related)
		gone := func(there map[string]any) bool { other, _ := w.id(there); return other == id }
		w.state.Objects = slices.DeleteFunc(slices.Clone(w.state.Objects), gone)
		w.state.Related = slices.DeleteFunc(slices.Clone(w.state.Related), gone)
		if len(w.state.Objects)+len(w.state.Related) == before {
			return fmt.Errorf("remove: there is no %s", id)
		}
	}
	return nil
}

// put merges an object into the one of its name, or adds it.
func (w *world) put(all *[]map[string]any, o map[string]any) error {
	id, err := w.id(o)
	if err != nil {
		return err
	}
	o = numbers(o)
	*all = slices.Clone(*all)
	for i, there := range *all {
		if other, _ := w.id(there); other == id {
			(*all)[i] = simulate.Patch(there, o)
			return nil
		}
	}
	o = maps.Clone(o)
	metadata := maps.Clone(o["metadata"].(map[string]any)) //nolint:forcetypeassert // id has seen it
	if id.namespace != "" {
		metadata["namespace"] = id.namespace
	}
	o["metadata"] = metadata
	*all = append(*all, o)
	return nil
}

// id tells one object from another.
type id struct{ apiVersion, kind, namespace, name string }

// String is such as ConfigMap default/a.
func (i id) String() string {
	if i.namespace == "" {
		return i.kind + " " + i.name
	}
	return i.kind + " " + i.namespace + "/" + i.name
}

var errNoObject = errors.New("an object needs apiVersion, kind and metadata.name")

// id returns which object is meant. It is in the namespace of the parent unless it says another one, or its kind has none.
func (w *world) id(o map[string]any) (id, error) {
	metadata, _ := o["metadata"].(map[string]any)
	i := id{}
	i.apiVersion, _ = o["apiVersion"].(string)
	i.kind, _ = o["kind"].(string)
	i.name, _ = metadata["name"].(string)
	if i.apiVersion == "" || i.kind == "" || i.name == "" {
		return i, errNoObject
	}
	i.namespace = w.simulator.Namespace(o, w.state.Parent)
	return i, nil
}

// numbers has whole numbers be int64, and others float64, as in other objects.
func numbers(m map[string]any) map[string]any {
	out := maps.Clone(m)
	for key, value := range out {
		out[key] = number(value)
	}
	return out
}

func number(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return numbers(v)
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = number(list[i])
		}
		return list
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		f, _ := v.Float64() // what is too large for that is no JSON for Kubernetes, either
		return f
	}
	return v
}
