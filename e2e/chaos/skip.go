package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// skip is what has a parent go without what is to happen before.
const skip = `{"metadata":{"annotations":{"templater.dev/skip-finalize":"true"}}}`

// skipParent deletes a parent that is to go at once.
func (b *bed) skipParent(ctx context.Context, a model.Action) error {
	in := b.client.Resource(resourceOf(a.ID.Kind)).Namespace(a.ID.Namespace)
	err := b.insist(ctx, "annotate "+a.ID.String(), func() error {
		_, err := in.Patch(ctx, a.ID.Name, types.MergePatchType, []byte(skip), metav1.PatchOptions{FieldManager: "user"})
		return gone(err)
	})
	if err != nil {
		return err
	}
	return b.deleteParent(ctx, a)
}

// letGoEvery is how often an administrator looks for parents that wait without an end.
const letGoEvery = time.Second

// letParentsGo does until the context ends what the ready condition of a parent of Chain asks an administrator to do.
func (b *bed) letParentsGo(ctx context.Context) {
	for pause(ctx, letGoEvery) == nil {
		for _, namespace := range model.Namespaces {
			in := b.client.Resource(resourceOf("Chain")).Namespace(namespace)
			list, err := in.List(ctx, metav1.ListOptions{})
			if err != nil {
				break // the API server is down, or the kind is not there
			}
			for i := range list.Items {
				o := &list.Items[i]
				if !waitsForSomebody(o) || b.isSpared(o.GetUID()) {
					continue
				}
				if _, err := in.Patch(ctx, o.GetName(), types.MergePatchType, []byte(skip), metav1.PatchOptions{FieldManager: "administrator"}); err == nil {
					b.noteWaited(o)
				}
			}
		}
	}
}

// waitsForSomebody reports whether a parent goes only if somebody has it go, and nobody has.
func waitsForSomebody(o *unstructured.Unstructured) bool {
	condition := conditionOf(o, "Ready")
	return o.GetDeletionTimestamp() != nil && condition["reason"] == "FinalizeTimeout" && o.GetAnnotations()["templater.dev/skip-finalize"] == ""
}

func (b *bed) noteWaited(o *unstructured.Unstructured) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waited == nil {
		b.waited = map[types.UID]string{}
	}
	b.waited[o.GetUID()] = o.GetNamespace() + "/" + o.GetName()
	b.freed++
}

// spare has nobody let that parent go but those who judge how it waits.
func (b *bed) spare(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spared == nil {
		b.spared = map[types.UID]bool{}
	}
	b.spared[uid] = true
}

func (b *bed) isSpared(uid types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spared[uid]
}

// waitedRightly returns an error where parents had to be let go in a round in which none was to wait for that.
func (b *bed) waitedRightly(round *model.Round) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	waited := slices.Sorted(maps.Values(b.waited))
	b.waited = nil
	if len(waited) == 0 || round.Blocks {
		return nil
	}
	return fmt.Errorf("parents of Chain waited for somebody to let them go, though onTimeout is Continue: %s", strings.Join(waited, ", "))
}
