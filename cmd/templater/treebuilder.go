package main

import (
	"fmt"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/tree"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// treeBuilder builds the tree of a parent.
type treeBuilder struct {
	parent      map[string]any
	namespace   string // for a parent without metadata.namespace; "" = default
	schemas     openapi.Set
	controllers []tree.Controller
	reasons     []string // why the object is not a parent of other TemplateControllers
}

// add adds a TemplateController to the tree if it selects the parent. children are the candidates for its children.
func (b *treeBuilder) add(tc *v1.TemplateController, checked lint.Result, definitions []map[string]any, read func(*simulate.Simulator) simulate.State, children []map[string]any) error {
	if checked.Compiled == nil || checked.Compiled.GVK.GroupKind() != child.GVKOf(b.parent).GroupKind() {
		return nil
	}
	s, rejection := simulate.New(tc, checked.Compiled, definitions, b.schemas)
	if invalid := checked.Invalid(); invalid != nil {
		rejection = invalid
	}
	if s != nil {
		s.InNamespace = b.namespace
		if namespace := s.Namespace(b.parent, b.parent); namespace != "" {
			b.parent = memserver.Patch(b.parent, map[string]any{"metadata": map[string]any{"namespace": namespace}})
		}
		if why := s.Matches(b.parent); why != "" {
			b.notParent(tc.Key(), why)
			return nil
		}
	}
	if rejection != nil {
		b.controllers = append(b.controllers, tree.Rejected(tc, rejection, b.parent, children))
		return nil
	}
	one, err := tree.Of(tc, checked.Compiled, s, read(s))
	b.controllers = append(b.controllers, one)
	return err
}

// notParent records why the object is not a parent of a TemplateController that watches its kind.
func (b *treeBuilder) notParent(name, why string) {
	b.reasons = append(b.reasons, fmt.Sprintf("%s: %s", v1.Describe(name), why))
}

func (b *treeBuilder) tree() (tree.Tree, error) {
	t := tree.NewParent(b.parent, b.controllers)
	if len(b.controllers) == 0 {
		why := strings.Join(b.reasons, "; ")
		if why == "" {
			why = "no TemplateController watches its kind"
		}
		return t, fmt.Errorf("%s %s is not a parent of any TemplateController: %s", t.Parent.Kind, t.Parent.Name, why)
	}
	return t, nil
}
