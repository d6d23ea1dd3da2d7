package cases

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// fixture is the state of a case after the steps so far.
type fixture struct {
	controller string
	simulator  *simulate.Simulator
	state      simulate.State
	gone       bool // the parent
}

// open reads the files of a case.
func (c *Case) open() (*fixture, error) {
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
	known, err := lint.Know(set)
	if err != nil {
		return nil, err
	}
	checked := known.CheckOne(tc)
	if invalid := checked.Invalid(); invalid != nil {
		return nil, tc.Located(invalid.Message)
	}
	s, rejection := simulate.New(tc.TemplateController, checked.Compiled, known.Kinds, known.Schemas)
	if rejection != nil {
		return nil, tc.Located(rejection.Message)
	}
	s.Validates = true
	if err := c.checkReady(slices.Concat(tc.TemplateController.Spec.Children, spec.Finals(&tc.TemplateController.Spec))); err != nil {
		return nil, err
	}
	w := &fixture{controller: tc.TemplateController.Key(), simulator: s, state: simulate.State{Now: c.Time}}
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

// checkReady returns an error if a step marks an unknown child template as ready.
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
			hint := syntax.DidYouMean(syntax.Nearest(name, names))
			return c.at(fmt.Sprintf("steps[%d].ready: no child template %q in spec.children or spec.finalize.children%s", i, name, hint))
		}
	}
	return nil
}

// noInput replaces standard input, which cases do not read.
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

// paths returns the paths of the TemplateController and the CustomResourceDefinitions.
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
			return nil, fmt.Errorf("%s: no templatecontroller.yaml in this directory or above: set files", filepath.Join(c.Folder, File))
		}
	}
}

// Inputs returns the files of the TemplateController and the CustomResourceDefinitions, which can be outside of the folder.
func (c *Case) Inputs() []string {
	paths, _ := c.paths()
	return paths
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
		return nil, fmt.Errorf("%s: controller: no %s", file, v1.Describe(c.Controller))
	case len(set.Controllers) > 1:
		return nil, fmt.Errorf("%s: there are %d TemplateControllers: name one of them in controller", file, len(set.Controllers))
	}
	return set.Controllers[0], nil
}
