package bed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/e2e/bench/workload"
)

// notOurs selects objects that were not installed by a run.
const notOurs = "bench!=templater"

// checkFree returns an error if the cluster has objects of others that a run would change or delete. It writes nothing.
func (b *Bed) checkFree(ctx context.Context) error {
	if err := b.checkAlone(ctx); err != nil {
		return err
	}
	for _, one := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{namespaces, workload.Namespace}, {roles, User}, {bindings, User}} {
		foreign, err := b.isForeign(ctx, one.resource, one.name)
		if err != nil {
			return err
		}
		if foreign {
			return taken(one.resource, one.name)
		}
	}
	list, err := b.dynamic.Resource(definitions).List(ctx, metav1.ListOptions{LabelSelector: notOurs})
	if err != nil {
		return fmt.Errorf("list definitions: %w", err)
	}
	for _, o := range list.Items {
		if strings.HasSuffix(o.GetName(), "."+workload.Group) {
			return taken(definitions, o.GetName())
		}
	}
	return nil
}

func taken(resource schema.GroupVersionResource, name string) error {
	return fmt.Errorf("the cluster has %s %s without the label %s, so it is not of a benchmark: use another cluster", resource.Resource, name, ours)
}

// checkAlone returns an error if the cluster has TemplateControllers of others, which would take part in the run.
func (b *Bed) checkAlone(ctx context.Context) error {
	list, err := b.dynamic.Resource(workload.Controllers).List(ctx, metav1.ListOptions{LabelSelector: notOurs, Limit: 1})
	if apierrors.IsNotFound(err) {
		return nil // the CRD is not installed
	}
	if err == nil && len(list.Items) > 0 {
		err = errors.New("the cluster has TemplateControllers that are not of a benchmark: use a cluster of its own")
	}
	return err
}

// isForeign reports whether the object exists and was not installed by a run.
func (b *Bed) isForeign(ctx context.Context, resource schema.GroupVersionResource, name string) (bool, error) {
	o, err := b.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s %s: %w", resource.Resource, name, err)
	}
	return o.GetLabels()["bench"] != "templater", nil
}
