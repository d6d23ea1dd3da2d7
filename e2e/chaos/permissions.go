package main

import (
	"context"
	"sync"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

// childRole is the ClusterRole with the operators' permissions that are temporarily revoked.
const childRole = user + "-children"

// ofParents are the rules for parents.
func ofParents() []any {
	var resources []any
	for _, kind := range model.Kinds {
		resources = append(resources, model.Plural(kind), model.Plural(kind)+"/status")
	}
	return []any{map[string]any{"apiGroups": []any{model.Group}, "resources": resources, "verbs": []any{"get", "list", "watch", "patch"}}}
}

// revoked counts the revocations of each permission.
type revoked struct {
	mu sync.Mutex
	by map[model.Permission]int
}

// rules are the remaining permissions on children.
func (w *revoked) rules() []any {
	var rules []any
	for _, permission := range model.Permissions {
		if w.by[permission] == 0 {
			rules = append(rules, map[string]any{"apiGroups": []any{permission.Group()}, "resources": []any{permission.Resource}, "verbs": []any{permission.Verb}})
		}
	}
	return rules
}

// changePermissions adds more to the revocations of a permission, and updates the ClusterRole.
func (h *harness) changePermissions(ctx context.Context, permission model.Permission, more int) error {
	h.permissions.mu.Lock()
	defer h.permissions.mu.Unlock()
	if h.permissions.by == nil {
		h.permissions.by = map[model.Permission]int{}
	}
	h.permissions.by[permission] += more
	return h.apply(ctx, roles, map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": childRole}, "rules": h.permissions.rules(),
	})
}

// revoke revokes a permission from the operators until giveBack is called, which works even after ctx is done.
func (h *harness) revoke(ctx context.Context, permission model.Permission) (giveBack func() error, err error) {
	err = h.changePermissions(ctx, permission, 1)
	return sync.OnceValue(func() error { return h.changePermissions(context.WithoutCancel(ctx), permission, -1) }), err
}
