// Package diff shows what an edited TemplateController would change in a cluster: templater diff. It runs package simulate for each parent,
// and sends writes as dry runs; it changes nothing.
package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/revision"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// atATime is the number of parents compared concurrently: most wait for the server.
const atATime = 16

// Comparer compares edited TemplateControllers with a cluster. It is safe for concurrent use.
type Comparer struct {
	Source *snapshot.Source
	Server Server
	// Definitions are CustomResourceDefinitions that take precedence over those of the cluster.
	Definitions []map[string]any
	// Schemas has the schemas for checking an edited TemplateController; nil = none.
	Schemas openapi.Set
	Now     time.Time
	// Progress is called with the number of compared parents, concurrently; nil = none.
	Progress func(done, all int)
}

// side is a TemplateController before or after the edit.
type side struct {
	tc        *v1.TemplateController
	compiled  *spec.Compiled
	simulator *simulate.Simulator
	related   *snapshot.Related
	parents   map[types.UID]*object.Object
}

// comparison compares one TemplateController.
type comparison struct {
	*Comparer
	before   *side // nil if the cluster has none, or none that is served
	after    *side
	children map[types.UID][]*object.Object
	tries    *tries
}

// Compare returns what the TemplateController would do if it replaced the one with its name.
func (c *Comparer) Compare(ctx context.Context, tc *v1.TemplateController) (*Report, error) {
	old, err := c.Source.Controller(ctx, tc.Key())
	if err != nil {
		return nil, err
	}
	if old != nil {
		tc = withStatus(tc, old)
	}
	checked := lint.Check(tc, c.Schemas)
	if invalid := checked.Invalid(); invalid != nil {
		return nil, fmt.Errorf("%s: %s", v1.Describe(tc.Key()), invalid.Message)
	}
	read, err := c.Source.Definitions(ctx, snapshot.AllKinds(tc, checked.Compiled))
	if err != nil {
		return nil, err
	}
	definitions := slices.Concat(c.Definitions, read)
	x := &comparison{Comparer: c, tries: &tries{source: c.Source, server: c.Server, manager: v1.FieldManager(tc.Key()), forbidden: map[place]int{}}}
	report := &Report{Controller: tc.Key(), New: old == nil, Revision: revision.IDOf(&tc.Spec)}
	if rollout := tc.Spec.Rollout; rollout != nil {
		report.unapproved = rollout.Approval == v1.ApprovalRequired && rollout.ApprovedRevision != report.Revision
	}
	if x.after, err = c.side(ctx, tc, checked.Compiled, definitions); err != nil {
		return nil, err
	}
	if old != nil {
		// Type errors do not stop a TemplateController that is already accepted.
		if was := lint.Check(old, nil); was.Rejection != nil {
			report.note("the TemplateController in the cluster is not accepted, so all changes are attributed to this version: %s", was.Rejection.Message)
		} else if x.before, err = c.side(ctx, old, was.Compiled, definitions); err != nil {
			return nil, err
		}
	}
	if err := x.after.noteUnserved(c.Source); err != nil {
		return nil, err
	}
	for _, entry := range x.after.related.Missing {
		report.note("the cluster does not have the kind of related[%s]", entry)
	}
	if tc.Spec.Suspend {
		report.note("spec.suspend is true: none of these changes is made until it is false")
	}
	specs := []*v1.TemplateControllerSpec{&tc.Spec}
	if old != nil {
		specs = append(specs, &old.Spec)
	}
	x.children, err = c.Source.Children(ctx, snapshot.Labels{Controller: tc.Key(), Kinds: snapshot.ChildKinds(tc, checked.Compiled), Namespaces: snapshot.ChildNamespaces(specs...)})
	if err != nil {
		return nil, err
	}
	if err := x.all(ctx, report); err != nil {
		return nil, err
	}
	report.note("%s", x.tries.untried())
	report.finish()
	return report, nil
}

// withStatus returns the TemplateController with the status from the cluster, which lists the kinds of the children.
func withStatus(tc, old *v1.TemplateController) *v1.TemplateController {
	out := *tc
	out.Status = old.Status
	return &out
}

// side reads the input of reconciliations of a TemplateController.
func (c *Comparer) side(ctx context.Context, tc *v1.TemplateController, compiled *spec.Compiled, definitions []map[string]any) (*side, error) {
	s := &side{tc: tc, compiled: compiled, parents: map[types.UID]*object.Object{}}
	var rejection *spec.Rejection
	if s.simulator, rejection = simulate.New(tc, compiled, definitions, c.Schemas); rejection != nil {
		return nil, fmt.Errorf("%s: %s", v1.Describe(tc.Key()), rejection.Message)
	}
	parents, err := c.Source.Parents(ctx, tc, compiled)
	if err != nil {
		return nil, err
	}
	for _, p := range parents {
		s.parents[p.UID()] = p
	}
	s.related, err = c.Source.Related(ctx, compiled)
	return s, err
}

// noteUnserved adds the kinds of children that the cluster does not serve, unless a template renders CustomResourceDefinitions.
func (s *side) noteUnserved(source *snapshot.Source) error {
	kinds := snapshot.ChildKinds(s.tc, s.compiled)
	if slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool { return gvk.Kind == "CustomResourceDefinition" }) {
		return nil
	}
	for _, gvk := range kinds {
		mapping, err := source.Resource(gvk)
		if err != nil {
			return err
		}
		if mapping == nil {
			s.simulator.Unserved(gvk)
		}
	}
	return nil
}

// all compares all parents concurrently.
func (x *comparison) all(ctx context.Context, report *Report) error {
	parents := x.parents()
	found := make([]*Parent, len(parents))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var done atomic.Int64
	var group sync.WaitGroup
	for range atATime {
		group.Go(func() {
			for i := range next {
				one, err := x.parent(ctx, parents[i])
				if err != nil {
					cancel(err)
					return
				}
				found[i] = one
				if x.Progress != nil {
					x.Progress(int(done.Add(1)), len(parents))
				}
			}
		})
	}
	for i := range parents {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	group.Wait()
	report.Summary.Parents = len(parents)
	for _, p := range found {
		if p != nil {
			report.Parents = append(report.Parents, p)
		}
	}
	return context.Cause(ctx)
}

// parents returns the parents of both sides, by namespace and name, without those that are being deleted.
func (x *comparison) parents() []*object.Object {
	var out []*object.Object
	for _, p := range x.after.parents {
		out = append(out, p)
	}
	if x.before != nil {
		for uid, p := range x.before.parents {
			if x.after.parents[uid] == nil {
				out = append(out, p)
			}
		}
	}
	out = slices.DeleteFunc(out, (*object.Object).Deleting)
	slices.SortFunc(out, func(a, b *object.Object) int {
		return cmp.Or(object.CompareKeys(a.Key(), b.Key()), cmp.Compare(a.UID(), b.UID()))
	})
	return out
}
