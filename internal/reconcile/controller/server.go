package controller

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// GetParent reads the parent from the API server, and returns nil if it does not exist. Errors are logged. If the kind is not served, it returns
// an error, because the parent may still exist.
func (c *Controller) GetParent(ctx context.Context, key queue.Key) (*object.Object, error) {
	parent, err := c.Cluster.Get(ctx, c.LocateParent(key))
	if request.MissingObject(err) {
		return nil, nil
	}
	if err != nil {
		klog.FromContext(ctx).Info("cannot get a parent, will retry", "controller", key.Controller, "parent", key.Parent.String(), "reason", c.Rights.WhyNot(err, c.Rights.Claim(permissions.Parents, c.Kind, key.Parent.Namespace)))
		return nil, err
	}
	return parent, nil
}

// Matches reports whether an object matches all selectors, according to the API server.
func (c *Controller) Matches(ctx context.Context, parent *object.Object) (bool, error) {
	if !c.Listed(parent.Namespace()) || !c.Labels.Matches(parent) {
		return false, nil
	}
	if c.Filter != nil {
		if admits, err := Evaluate(c.Program, parent); err != nil || !admits {
			return false, err
		}
	}
	if inside, err := c.inNamespace(ctx, parent); err != nil || !inside {
		return false, err
	}
	if c.Spec.Watch.FieldSelector == "" {
		return true, nil
	}
	return c.Cluster.Selected(ctx, Locate(c.Kind, parent.Key()), c.Labels.String(), c.Spec.Watch.FieldSelector)
}

// inNamespace reports whether the namespaceSelector selects the parent's namespace. If the watch shows that it does not, the API server is
// asked, because the label may have been restored. This needs the same permission as the watch.
func (c *Controller) inNamespace(ctx context.Context, parent *object.Object) (bool, error) {
	namespace := parent.Namespace()
	if c.InNamespace(namespace) {
		return true, nil
	}
	selected, err := c.Cluster.Selected(ctx, request.Location{Resource: Namespaces, Name: namespace}, c.NamespaceSelector.String(), "")
	if err != nil {
		klog.FromContext(ctx).Info("cannot read the Namespace of a parent, will retry", "controller", c.Name, "parent", parent.Key().String(), "reason", c.Rights.WhyNot(err, c.NamespacesClaim()))
	}
	return selected, err
}

// ApplyStatus applies the status to that version of a parent. Atomic conditions are never taken from another field manager: on conflict they are
// omitted, and conditionsOwned is true.
func (c *Controller) ApplyStatus(ctx context.Context, parent *object.Object, content map[string]any, version string) (after *object.Object, conditionsOwned bool, err error) {
	if c.Kind.Status.Atomic && content["conditions"] != nil {
		after, err = c.Cluster.ApplyStatus(ctx, Locate(c.Kind, parent.Key()), c.statusBody(parent, content, version), c.Manager, false)
		owned := request.OwnedFields(err)
		if len(owned) == 0 {
			return after, false, err
		}
		if conditionsOwned = slices.Contains(owned, ".status.conditions"); conditionsOwned {
			delete(content, "conditions")
		}
	}
	after, err = c.Cluster.ApplyStatus(ctx, Locate(c.Kind, parent.Key()), c.statusBody(parent, content, version), c.Manager, true)
	return after, conditionsOwned, err
}

// statusBody returns the body of a request that applies the status.
func (c *Controller) statusBody(parent *object.Object, content map[string]any, version string) []byte {
	metadata := map[string]any{"name": parent.Name(), "resourceVersion": version}
	if ns := parent.Namespace(); ns != "" {
		metadata["namespace"] = ns
	}
	body := map[string]any{"apiVersion": c.GVK.GroupVersion().String(), "kind": c.GVK.Kind, "metadata": metadata}
	if len(content) > 0 { // if it had fields before, an empty status would become null: see object.FieldSet.WithoutEmptied
		body["status"] = content
	}
	return object.Append(make([]byte, 0, 512), body)
}
