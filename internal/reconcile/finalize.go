package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
)

// finalize sees to the finalizer of a TemplateController, which it has only
// where its children are to go with it; those of a suspended one stay. It reports whether the
// TemplateController is on its way out, so that there is nothing else to do.
func (c *Controllers) finalize(ctx context.Context, tc *v1.TemplateController, packed *object.Object, next *controller) (bool, error) {
	has := slices.Contains(tc.Finalizers, v1.FinalizerChildren)
	needs := tc.Spec.DeletionPolicy == v1.DeletionDelete
	switch {
	case tc.DeletionTimestamp == nil && has == needs:
		return false, nil
	case tc.DeletionTimestamp == nil && needs:
		return false, c.setFinalizers(ctx, tc, packed, append(slices.Clone(tc.Finalizers), v1.FinalizerChildren))
	case tc.DeletionTimestamp != nil:
		c.stop(ctx, tc.Name)
		if has && needs && !tc.Spec.Suspend {
			if done, err := c.deleteChildren(ctx, next); !done || err != nil {
				return true, err
			}
		}
	}
	if !has {
		return true, nil
	}
	rest := slices.DeleteFunc(slices.Clone(tc.Finalizers), func(f string) bool { return f == v1.FinalizerChildren })
	return tc.DeletionTimestamp != nil, c.setFinalizers(ctx, tc, packed, rest)
}

func (c *Controllers) setFinalizers(ctx context.Context, tc *v1.TemplateController, packed *object.Object, finalizers []string) error {
	o := kube.Location{Resource: v1.Resource, Name: packed.Name()}
	after, err := c.clusters("").SetFinalizers(ctx, o, packed, finalizers)
	if apierrors.IsConflict(err) {
		return errBehind
	}
	if err != nil {
		return fmt.Errorf("set finalizers of TemplateController %s: %w", o.Name, err)
	}
	tc.ResourceVersion = after.ResourceVersion()
	c.cache.Put(after, ownWriter)
	return nil
}

// stop lets no pass of the controller begin, and returns when none is under way.
func (c *Controllers) stop(ctx context.Context, name string) {
	desk := deskOf(ctx)
	desk.end() // others have work to end, not this worker
	defer desk.begin(Key{Controller: name})
	c.mu.Lock()
	e := c.entries[name]
	if e == nil {
		c.mu.Unlock()
		return
	}
	e.current, e.state = nil, ""
	c.mu.Unlock()
	e.passes.Lock()
	defer e.passes.Unlock()
}

// deleteChildren asks for the deletion of all children and reports whether none is
// left.
func (c *Controllers) deleteChildren(ctx context.Context, from *controller) (bool, error) {
	if !from.completeEverywhere() {
		return false, nil // comes again when the caches have synced
	}
	var children []*live
	from.eachChild(func(s source, o *object.Object) {
		if from.made(o) && o.Applied(from.manager, "") != nil { // the owner may have children of its own with our labels
			children = append(children, &live{kind: s.kind, object: o})
		}
	})
	var errs []error
	for _, l := range children {
		if l.object.Deleting() {
			continue
		}
		err := from.cluster.Delete(ctx, l.location(), l.object.UID(), metav1.DeletePropagationBackground)
		from.meter.Write(Delete, answerOf(err))
		if err != nil {
			errs = append(errs, &refusedError{from.name, from.refusal(err, "delete "+l.id().String(), l.location(), l.kind)})
			continue
		}
		from.noteDeletion(l)
		klog.FromContext(ctx).Info("deleted child of a TemplateController that goes", "controller", from.name, "child", l.id().String())
	}
	return len(children) == 0, errors.Join(errs...)
}

// refusedError says that the server did not delete a child of a TemplateController that goes.
type refusedError struct {
	controller string
	problem    *Problem
}

func (e *refusedError) Error() string {
	return "TemplateController " + e.controller + ": " + e.problem.Message
}
