package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// memories are the objects of one check that may be unchanged at the next one.
type memories map[model.ChildID]memory

// memory is one object.
type memory struct {
	uid  types.UID
	id   model.ChildID // ID in the model
	left bool          // its parent is missing, and it must be kept
}

// remembered reports objects that were deleted or replaced although nothing should have replaced them.
func (c *checker) remembered() {
	for id, m := range c.before {
		stays := c.round == nil || c.round.Steady[m.id] && c.beside == ""
		if m.left {
			stays = c.round == nil || !c.round.Purged[model.Report]
		}
		if o := c.children[id]; stays && (o == nil || o.GetUID() != m.uid) {
			c.fault("%s was replaced or deleted, want uid %s: %s", id, m.uid, show(o))
		}
	}
}

// remember returns the memories for the next check.
func (c *checker) remember() memories {
	out := memories{}
	for id, child := range c.desired() {
		o, parent := c.children[id], c.parents[child.Parent]
		if _, foreign := c.foreign[id]; foreign || o == nil || parent == nil || o.GetDeletionTimestamp() != nil {
			continue
		}
		labels := o.GetLabels()
		ours := labels["templater.dev/controller"] == child.Shape && labels["templater.dev/parent-uid"] == string(parent.GetUID())
		if refs := o.GetOwnerReferences(); ours && (len(refs) == 0 || refs[0].UID == parent.GetUID()) {
			out[id] = memory{uid: o.GetUID(), id: child.ID}
		}
	}
	for id, o := range c.children {
		if outlives(o) && c.parentOf(o) == nil {
			out[id] = memory{uid: o.GetUID(), left: true}
		}
	}
	return out
}

// sweep deletes objects whose parent was already missing at the previous check, so that they do not accumulate.
func (h *harness) sweep(ctx context.Context, before, now memories) error {
	for id, m := range now {
		if !m.left || !before[id].left {
			continue
		}
		delete(now, id)
		err := h.insist(ctx, "sweep "+id.String(), func() error {
			return gone(h.children(id).Delete(ctx, id.Name, metav1.DeleteOptions{}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
