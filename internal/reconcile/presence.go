package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/spec"
)

// What a spec names may not be there: the server lets an account act that does not exist, and lists what is in a
// namespace that does not exist. To both it says no more than that there are no rights, or no objects. So templater asks,
// once there is reason to, in the background and by its own rights.

var serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}

// absent asks the server whether the object of a claim is not there.
func (r *rights) absent(ctx context.Context, c claim) (bool, error) {
	if err := r.limit.Wait(ctx); err != nil {
		return false, err
	}
	_, err := r.clusters("").Get(ctx, kube.Location{Resource: c.resource.WithVersion("v1"), Namespace: c.namespace, Name: c.name})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// accountIsAbsent says that the account is not there that the controller works as, or "". pending tells that
// this will be known soon. It is for where the account lacks a right.
func (c *controller) accountIsAbsent() (text string, pending bool) {
	if c.as == "" {
		return "", false
	}
	namespace, name := spec.Account(c.as)
	f := c.rights.look(claim{use: toExist, resource: serviceAccounts, namespaced: true, namespace: namespace, name: name}, c.name)
	if !f.absent {
		return "", f.pending
	}
	return fmt.Sprintf("%s does not exist: create it, with the rights that the templates need, or correct spec.serviceAccountRef", whoIs(c.as)), false
}

// absentNamespaces returns those of spec.watch.namespaces that are known not to be there, in order. One that holds parents
// is not asked about.
func (c *controller) absentNamespaces() []string {
	var out []string
	for _, ns := range sortedKeys(c.parents) {
		if cache := c.parents[ns]; ns == "" || !cache.Synced() || cache.Len() > 0 {
			continue
		}
		if c.rights.look(claim{use: toExist, resource: namespaces.GroupResource(), name: ns}, c.name).absent {
			out = append(out, ns)
		}
	}
	return out
}
