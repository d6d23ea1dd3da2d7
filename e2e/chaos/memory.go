package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// memories are the objects of one check that may be the same at the next one.
type memories map[model.ChildID]memory

// memory is one object.
type memory struct {
	uid  types.UID
	id   model.ChildID // that the model knows it by
	left bool          // its parent is gone, and it is to stay
}

// remembered finds what is gone, or was made anew, although nothing was to replace it.
func (c *checker) remembered() {
	for id, m := range c.before {
		stays := c.round == nil || c.round.Steady[m.id] && c.beside == ""
		if m.left {
			stays = c.round == nil || !c.round.Purged[model.Report]
		}
		if o := c.children[id]; stays && (o == nil || o.GetUID() != m.uid) {
			c.fault("%s should have stayed what it was, with uid %s: %s", id, m.uid, show(o))
		}
	}
}

// remember returns what the next check is to know.
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

// sweep deletes what has been left by a parent that was gone a check ago already, lest it
// become more and more.
func (b *bed) sweep(ctx context.Context, before, now memories) error {
	for id, m := range now {
		if !m.left || !before[id].left {
			continue
		}
		delete(now, id)
		err := b.insist(ctx, "sweep "+id.String(), func() error {
			return gone(b.children(id).Delete(ctx, id.Name, metav1.DeleteOptions{}))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
