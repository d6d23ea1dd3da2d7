package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// childRole is the ClusterRole that gives the operators the rights that are withdrawn now and then.
const childRole = user + "-children"

// ofParents are the rules about parents.
func ofParents() []any {
	var resources []any
	for _, kind := range model.Kinds {
		resources = append(resources, model.Plural(kind), model.Plural(kind)+"/status")
	}
	return []any{map[string]any{"apiGroups": []any{model.Group}, "resources": resources, "verbs": []any{"get", "list", "watch", "patch"}}}
}

// withdrawn counts how many have withdrawn each right.
type withdrawn struct {
	mu sync.Mutex
	by map[model.Right]int
}

// rules are what is left of the rights of children.
func (w *withdrawn) rules() []any {
	var rules []any
	for _, right := range model.Rights {
		if w.by[right] == 0 {
			rules = append(rules, map[string]any{"apiGroups": []any{right.Group()}, "resources": []any{right.Resource}, "verbs": []any{right.Verb}})
		}
	}
	return rules
}

// changeRights has that many more withdraw a right, and the ClusterRole say what is left.
func (b *bed) changeRights(ctx context.Context, right model.Right, more int) error {
	b.rights.mu.Lock()
	defer b.rights.mu.Unlock()
	if b.rights.by == nil {
		b.rights.by = map[model.Right]int{}
	}
	b.rights.by[right] += more
	return b.apply(ctx, roles, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": childRole}, "rules": b.rights.rules(),
	})
}

// withdraw takes a right away from the operators, until giveBack is called, also when the context has ended.
func (b *bed) withdraw(ctx context.Context, right model.Right) (giveBack func() error, err error) {
	err = b.changeRights(ctx, right, 1)
	return sync.OnceValue(func() error { return b.changeRights(context.WithoutCancel(ctx), right, -1) }), err
}

var reviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}

// denied waits until the API server denies the right to each replica: it learns of roles a moment later.
func (b *bed) denied(ctx context.Context, right model.Right, namespace string) error {
	return b.insist(ctx, "have the API server deny the right to "+right.String(), func() error {
		for i := range b.operators.replicas {
			review := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
				"spec": map[string]any{"user": userOf(i), "resourceAttributes": map[string]any{
					"group": right.Group(), "resource": right.Resource, "verb": right.Verb, "namespace": namespace,
				}},
			}}
			answer, err := b.client.Resource(reviews).Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); allowed {
				return fmt.Errorf("%s has it: %w", userOf(i), errUnseen)
			}
		}
		return nil
	})
}

// deprive takes a right away from the operators when they will need it. The parent has to say that it is missing, and nothing may be lost
// meanwhile; then it is given back.
func (b *bed) deprive(ctx context.Context, a model.Action) error {
	if a.Right.Resource == "pods" {
		return b.depriveRelated(ctx, a)
	}
	shape, child := model.Whole, a.Part()
	if a.Right.Deletes() {
		shape, child = model.Wide, a.FarID()
	}
	s, err := b.stage(ctx, shape, a.ID, a.Parent)
	if err != nil {
		return err
	}
	before, err := s.child(ctx, child)
	if err != nil {
		return err
	}
	if before == nil {
		return fmt.Errorf("%s is ready without %s", s.id, child)
	}
	giveBack, err := b.withdraw(ctx, a.Right)
	if err == nil {
		err = s.miss(ctx, a, child, before)
	}
	if err := errors.Join(err, giveBack()); err != nil {
		return err
	}
	if a.Right.Deletes() {
		return s.goes(ctx)
	}
	return nil
}

// depriveRelated takes the rights to list and watch related Pods away. The parent has to say soon that they cannot be read, though it has read
// them before; then the rights are given back.
func (b *bed) depriveRelated(ctx context.Context, a model.Action) error {
	s, err := b.stage(ctx, model.Reader, a.ID, a.Parent)
	if err != nil {
		return err
	}
	var back []func() error
	for _, verb := range []string{"list", "watch"} {
		right := model.Right{Resource: a.Right.Resource, Verb: verb}
		giveBack, withdrawn := b.withdraw(ctx, right)
		back, err = append(back, giveBack), errors.Join(err, withdrawn)
		if err == nil {
			err = b.denied(ctx, right, a.ID.Namespace)
		}
	}
	if err == nil {
		err = s.cannotRead(ctx, a)
	}
	for _, giveBack := range back {
		err = errors.Join(err, giveBack())
	}
	return errors.Join(err, b.apply(ctx, resourceOf(a.ID.Kind), a.Edited.Manifest(a.ID)))
}

// cannotRead edits the parent again and again until it says that what it is related to cannot be read.
func (s *scene) cannotRead(ctx context.Context, a model.Action) error {
	edits := []model.Parent{a.Edited, a.Parent}
	return s.insist(ctx, "hear of "+s.id.String()+" that Pods cannot be read", func() error {
		edits[0], edits[1] = edits[1], edits[0]
		if err := errors.Join(s.apply(ctx, resourceOf(s.id.Kind), edits[1].Manifest(s.id)), pause(ctx, time.Second)); err != nil {
			return err
		}
		o, err := s.parent(ctx)
		if got := conditionOf(o, model.ReadyCondition(s.shape)); err == nil && got["reason"] != "RelatedUnreadable" {
			err = fmt.Errorf("%w: the condition is %v", errUnseen, got)
		}
		return err
	})
}

// miss has the operators miss the right: they are to write, or delete, the child.
func (s *scene) miss(ctx context.Context, a model.Action, child model.ChildID, before *unstructured.Unstructured) error {
	err := s.denied(ctx, a.Right, child.Namespace)
	switch {
	case err != nil:
	case a.Right.Deletes():
		err = s.delete(ctx, metav1.DeletePropagationBackground)
	case a.Right.Verb == "create":
		err = errors.Join(s.remove(ctx, s.children(child), child.Name, metav1.DeletePropagationBackground), s.apply(ctx, resourceOf(s.id.Kind), a.Edited.Manifest(s.id)))
	default:
		err = s.apply(ctx, resourceOf(s.id.Kind), a.Edited.Manifest(s.id))
	}
	if err == nil {
		err = s.says(ctx, "ChildForbidden", child.Namespace+"/"+child.Name, "templater is not allowed to "+a.Right.Verb+" "+child.Resource, "resources: ["+child.Resource+"]")
	}
	if err != nil || a.Right.Verb == "create" {
		return err
	}
	return s.stays(ctx, child, before.GetUID())
}

// holdsAll reports whether a text holds all of these.
func holdsAll(text any, all []string) bool {
	held, _ := text.(string)
	for _, one := range all {
		if !strings.Contains(held, one) {
			return false
		}
	}
	return true
}
