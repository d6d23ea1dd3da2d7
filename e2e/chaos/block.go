package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// blocked is for how long a parent is to stay that waits without an end.
const blocked = 3 * time.Second

// blockParent deletes a parent of Chain without a timeout that waits for something without an end. It has to stay, to say what is to
// be done, and to go once that is done.
func (b *bed) blockParent(ctx context.Context, a model.Action) error {
	s, err := b.stage(ctx, model.Chain, a.ID, a.Parent)
	if err != nil {
		return err
	}
	before, err := s.chain(ctx)
	if err != nil {
		return err
	}
	b.spare(s.uid)
	web := chainChild(a.ID, model.WebMark)
	if a.Held {
		if err := b.keep(ctx, web); err != nil {
			return err
		}
	}
	if err := s.delete(ctx, metav1.DeletePropagationBackground); err != nil {
		return err
	}
	if err := s.waits(ctx, before, a.Held); err != nil {
		return err
	}
	if a.Hard {
		err = s.skip(ctx)
	} else {
		err = s.mend(ctx, web, a.Held)
	}
	if err != nil {
		return err
	}
	if err := s.goes(ctx); err != nil {
		return err
	}
	if a.Held {
		return b.release(ctx, b.children(web), web.Name, before[web], keptFinalizer)
	}
	return nil
}

// chainChild is a child of a parent of Chain.
func chainChild(id model.ParentID, mark string) model.ChildID {
	return model.ChildID{Resource: "configmaps", Namespace: id.Namespace, Name: model.Chain + "-" + id.Name + mark}
}

// chain returns which children a parent of Chain has, all of which must be there.
func (s *scene) chain(ctx context.Context) (map[model.ChildID]types.UID, error) {
	all := map[model.ChildID]types.UID{}
	var errs []error
	for _, mark := range []string{"", model.WebMark, model.LastMark} {
		id := chainChild(s.id, mark)
		o, err := s.child(ctx, id)
		if err == nil && o == nil {
			err = fmt.Errorf("%s is ready without %s", s.id, id)
		}
		if err == nil {
			all[id] = o.GetUID()
		}
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// waits returns an error unless the parent waits, says so, and leaves alone what is not to go yet: all children while an object is to become
// ready; where one is held, those that come before it.
func (s *scene) waits(ctx context.Context, before map[model.ChildID]types.UID, held bool) error {
	if err := s.says(ctx, "Finalizing", "being deleted: waiting for "); err != nil {
		return err
	}
	for end := time.Now().Add(blocked); time.Now().Before(end); {
		if err := pause(ctx, blocked/6); err != nil {
			return err
		}
		err := s.insist(ctx, "see whether "+s.id.String()+" waits", func() error { _, err := s.parent(ctx); return err })
		if err != nil {
			return err
		}
	}
	var errs []error
	for id, uid := range before {
		if !held || id == chainChild(s.id, "") {
			errs = append(errs, s.stays(ctx, id, uid))
		}
	}
	return errors.Join(errs...)
}

// keep has somebody hold a child for good.
func (b *bed) keep(ctx context.Context, id model.ChildID) error {
	in := b.children(id)
	return b.insist(ctx, "hold "+id.String(), func() error {
		o, err := in.Get(ctx, id.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return b.addFinalizer(ctx, in, o, keptFinalizer)
	})
}

// skip has the parent go at once.
func (s *scene) skip(ctx context.Context) error {
	return s.insist(ctx, "annotate "+s.id.String(), func() error {
		_, err := s.parents().Patch(ctx, s.id.Name, types.MergePatchType, []byte(skip), metav1.PatchOptions{FieldManager: "administrator"})
		return err
	})
}

// mend ends what the parent waits for.
func (s *scene) mend(ctx context.Context, web model.ChildID, held bool) error {
	if held {
		o, err := s.child(ctx, web)
		if err != nil || o == nil {
			return errors.Join(err, fmt.Errorf("%s has gone though somebody holds it", web))
		}
		return s.release(ctx, s.children(web), web.Name, o.GetUID(), keptFinalizer)
	}
	backup := chainChild(s.id, model.BackupMark)
	return s.insist(ctx, "have "+backup.String()+" become ready", func() error {
		o, err := s.children(backup).Get(ctx, backup.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return s.setReady(ctx, o)
	})
}
