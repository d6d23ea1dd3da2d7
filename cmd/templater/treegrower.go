package main

import (
	"fmt"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/tree"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// grower grows the tree of a parent by one TemplateController after the other.
type grower struct {
	parent      map[string]any
	namespace   string // of a parent that gives none; "" = default
	schemas     openapi.Set
	controllers []tree.Controller
	reasons     []string // why it is no parent of others
}

// add adds how the parent stands by a TemplateController, if it is a parent of that. children are objects that may be its children.
func (g *grower) add(tc *v1.TemplateController, checked lint.Result, definitions []map[string]any, read func(*simulate.Simulator) simulate.State, children []map[string]any) error {
	if checked.Compiled == nil || checked.Compiled.GVK.GroupKind() != child.GVKOf(g.parent).GroupKind() {
		return nil
	}
	s, rejection := simulate.New(tc, checked.Compiled, definitions, g.schemas)
	if checked.Rejection != nil {
		rejection = checked.Rejection
	}
	if s != nil {
		s.InNamespace = g.namespace
		if namespace := s.Namespace(g.parent, g.parent); namespace != "" {
			g.parent = simulate.Patch(g.parent, map[string]any{"metadata": map[string]any{"namespace": namespace}})
		}
		if why := s.Matches(g.parent); why != "" {
			g.leaveOut(tc.Name, why)
			return nil
		}
	}
	if rejection != nil {
		g.controllers = append(g.controllers, tree.Rejected(tc, rejection, g.parent, children))
		return nil
	}
	one, err := tree.Of(tc, checked.Compiled, s, read(s))
	g.controllers = append(g.controllers, one)
	return err
}

// leaveOut notes why the object is no parent of a TemplateController that watches its kind.
func (g *grower) leaveOut(name, why string) {
	g.reasons = append(g.reasons, fmt.Sprintf("TemplateController %s: %s", name, why))
}

func (g *grower) tree() (tree.Tree, error) {
	t := tree.NewParent(g.parent, g.controllers)
	if len(g.controllers) == 0 {
		why := strings.Join(g.reasons, "; ")
		if why == "" {
			why = "none watches its kind"
		}
		return t, fmt.Errorf("%s %s is not a parent of any TemplateController: %s", t.Parent.Kind, t.Parent.Name, why)
	}
	return t, nil
}
