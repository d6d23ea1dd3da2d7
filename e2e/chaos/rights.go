package main

import (
	"context"
	"sync"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// childRole is the ClusterRole with the operators' permissions that are temporarily withdrawn.
const childRole = user + "-children"

// ofParents are the rules for parents.
func ofParents() []any {
	var resources []any
	for _, kind := range model.Kinds {
		resources = append(resources, model.Plural(kind), model.Plural(kind)+"/status")
	}
	return []any{map[string]any{"apiGroups": []any{model.Group}, "resources": resources, "verbs": []any{"get", "list", "watch", "patch"}}}
}

// withdrawn counts the withdrawals of each permission.
type withdrawn struct {
	mu sync.Mutex
	by map[model.Right]int
}

// rules are the remaining permissions on children.
func (w *withdrawn) rules() []any {
	var rules []any
	for _, right := range model.Rights {
		if w.by[right] == 0 {
			rules = append(rules, map[string]any{"apiGroups": []any{right.Group()}, "resources": []any{right.Resource}, "verbs": []any{right.Verb}})
		}
	}
	return rules
}

// changeRights adds more to the withdrawals of a permission, and updates the ClusterRole.
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

// withdraw withdraws a permission from the operators until giveBack is called, which works even after ctx is done.
func (b *bed) withdraw(ctx context.Context, right model.Right) (giveBack func() error, err error) {
	err = b.changeRights(ctx, right, 1)
	return sync.OnceValue(func() error { return b.changeRights(context.WithoutCancel(ctx), right, -1) }), err
}
