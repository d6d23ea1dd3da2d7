package bed

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/e2e/bench/workload"
	"github.com/templater-dev/templater/e2e/cluster/poll"
	"github.com/templater-dev/templater/e2e/manifest"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	roles       = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	bindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// ours selects objects that were installed by a run.
const ours = "bench=templater"

// rules are the permissions on children and parents, in addition to those of the operator itself.
const rules = `
- {apiGroups: [""], resources: [configmaps, pods], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [` + workload.Group + `], resources: ["*"], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [""], resources: [secrets], resourceNames: [templater-seal], verbs: [create, list, patch, watch]}
- {apiGroups: [""], resources: [namespaces], resourceNames: [templater-system], verbs: [create, patch]}
`

const binding = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + User + `, labels: {bench: templater}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + User + `}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + User + `}]
`

const namespace = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + workload.Namespace + `, labels: {bench: templater}}
`

// install applies everything, and removes leftovers of an earlier run.
func (b *Bed) install(ctx context.Context) error {
	if err := b.installControllers(ctx); err != nil {
		return fmt.Errorf("install the definition of TemplateControllers: %w", err)
	}
	role, err := b.role()
	if err == nil {
		err = b.apply(ctx, roles, role)
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", roles.Resource, err)
	}
	for _, one := range []struct {
		resource schema.GroupVersionResource
		manifest string
	}{{bindings, binding}, {namespaces, namespace}} {
		o, err := decode(one.manifest)
		if err == nil {
			err = b.apply(ctx, one.resource, o)
		}
		if err != nil {
			return fmt.Errorf("install %s: %w", one.resource.Resource, err)
		}
	}
	if err := b.served(ctx, workload.Controllers); err != nil {
		return err
	}
	if err := b.Define(ctx, workload.Item, workload.Twin, workload.Peer); err != nil {
		return err
	}
	return b.Clear(ctx, workload.Item, workload.Twin, workload.Peer)
}

// installControllers installs the CRDs of templater. An existing cluster keeps its own ones; the others are removed by
// Close.
func (b *Bed) installControllers(ctx context.Context) error {
	all, err := manifest.Controllers(b.root)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := b.installDefinition(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bed) installDefinition(ctx context.Context, o *unstructured.Unstructured) error {
	if b.Cluster == nil {
		foreign, err := b.isForeign(ctx, definitions, o.GetName())
		if err != nil || foreign {
			return err
		}
		o.SetLabels(labels.Set{"bench": "templater"})
	}
	return b.apply(ctx, definitions, o)
}

// role is the ClusterRole of the contenders.
func (b *Bed) role() (*unstructured.Unstructured, error) {
	var more []any
	if err := yaml.Unmarshal([]byte(rules), &more); err != nil {
		return nil, err
	}
	role, err := manifest.OperatorRole(b.root, User, more...)
	if err == nil {
		role.SetLabels(labels.Set{"bench": "templater"})
	}
	return role, err
}

func decode(text string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	return o, yaml.Unmarshal([]byte(text), &o.Object)
}

func (b *Bed) apply(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured) error {
	_, err := b.dynamic.Resource(resource).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "bench", Force: true})
	return err
}

// Define creates the CRDs of parent kinds, and returns once they are served.
func (b *Bed) Define(ctx context.Context, kinds ...string) error {
	for _, kind := range kinds {
		if err := b.apply(ctx, definitions, workload.Definition(kind)); err != nil {
			return fmt.Errorf("define the kind %s: %w", kind, err)
		}
	}
	for _, kind := range kinds {
		if err := b.served(ctx, workload.Resource(kind)); err != nil {
			return err
		}
	}
	return nil
}

// Undefine deletes the CRDs of parent kinds and all their objects.
func (b *Bed) Undefine(ctx context.Context, kinds ...string) error {
	for _, kind := range kinds {
		if err := b.dynamic.Resource(definitions).Delete(ctx, workload.Definition(kind).GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the kind %s: %w", kind, err)
		}
	}
	return nil
}

func (b *Bed) served(ctx context.Context, resource schema.GroupVersionResource) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := poll.Until(ctx, 50*time.Millisecond, func() error {
		_, err := b.dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	if err != nil {
		return fmt.Errorf("wait until %s are served: %w", resource.Resource, err)
	}
	return nil
}

// uninstall deletes what install created, except for the TemplateController CRD in a cluster that was started here.
func (b *Bed) uninstall(ctx context.Context) error {
	var errs []error
	for _, resource := range []schema.GroupVersionResource{workload.Controllers, namespaces, definitions, bindings, roles} {
		errs = append(errs, b.deleteOurs(ctx, resource))
	}
	return errors.Join(errs...)
}

// deleteOurs deletes one by one, because Namespaces do not support deletecollection, and waits until all are deleted.
func (b *Bed) deleteOurs(ctx context.Context, resource schema.GroupVersionResource) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return poll.Until(ctx, 200*time.Millisecond, func() error {
		list, err := b.dynamic.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: ours})
		if apierrors.IsNotFound(err) {
			return nil // the resource is not served
		}
		if err != nil || len(list.Items) == 0 {
			return err
		}
		for _, o := range list.Items {
			if o.GetDeletionTimestamp() != nil {
				continue
			}
			if err := b.dynamic.Resource(resource).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return fmt.Errorf("%d %s are still there", len(list.Items), resource.Resource)
	})
}
