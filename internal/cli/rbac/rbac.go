// Package rbac computes the minimal RBAC rules that a TemplateController needs, from its spec and the kinds that its templates
// render: templater rbac. It needs no client.
package rbac

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Kinds resolves kinds, like kind.Declared. The error is a *kind.NotFoundError for unknown kinds.
type Kinds interface {
	Resolve(gvk schema.GroupVersionKind) (kind.Kind, error)
}

// Options are settings that the spec does not have.
type Options struct {
	// Account is the ServiceAccount to impersonate instead of spec.serviceAccountRef; nil = the one of the spec.
	Account *v1.ServiceAccountRef
	// Operator is the ServiceAccount of templater itself.
	Operator v1.ServiceAccountRef
	// Blocking adds the permissions that the admission plugin OwnerReferencesPermissionEnforcement requires.
	Blocking bool
}

// Permissions are the permissions of one TemplateController. They are immutable.
type Permissions struct {
	Controller string
	Account    *v1.ServiceAccountRef // nil = the operator's own
	Operator   v1.ServiceAccountRef
	Grants     []Grant // by namespace, then in the order of the spec
	// Notes are facts that could not be determined from the files, one line each, without a final period. If there are any, permissions can be
	// missing or wrong.
	Notes []string
}

// Grant is a permission on the objects of one resource, in one namespace.
type Grant struct {
	Namespace string // "" = all, or a cluster-scoped resource
	Group     string
	Resource  string   // with its subresource: pods/log
	Name      string   // of the only object; "" = all
	Verbs     []string // sorted
	For       []string // purpose, such as "the parents"
}

// Of returns the permissions that a TemplateController needs. The error says why the spec is invalid.
func Of(tc *v1.TemplateController, kinds Kinds, o Options) (*Permissions, error) {
	as := tc.Spec.DeepCopy()
	if o.Account != nil {
		if tc.Namespace != "" && o.Account.Namespace != tc.Namespace {
			return nil, fmt.Errorf("the ServiceAccount of a NamespacedTemplateController must be in its namespace, %s", tc.Namespace)
		}
		as.ServiceAccountRef = o.Account
	}
	spec.Confine(tc.Namespace, as)
	compiled, rejection := spec.Compile(tc.Key(), as)
	if rejection != nil {
		return nil, errors.New(rejection.Message)
	}
	g := &gatherer{key: tc.Key(), spec: as, compiled: compiled, kinds: kinds, grants: map[target]*Grant{}}
	if err := g.gather(o.Blocking); err != nil {
		return nil, err
	}
	return &Permissions{
		Controller: tc.Key(), Account: as.ServiceAccountRef, Operator: o.Operator, Grants: g.sorted(), Notes: g.notes,
	}, nil
}

// target is the key of a Grant.
type target struct{ namespace, group, resource, name string }

// add grants verbs on a resource in namespaces; nil means all.
func (g *gatherer) add(namespaces []string, resource schema.GroupResource, verbs []string, why string) {
	g.addNamed(namespaces, resource, "", verbs, why)
}

// addNamed is add for the object with a name; "" means all.
func (g *gatherer) addNamed(namespaces []string, resource schema.GroupResource, name string, verbs []string, why string) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, ns := range namespaces {
		at := target{ns, resource.Group, resource.Resource, name}
		one := g.grants[at]
		if one == nil {
			one = &Grant{Namespace: ns, Group: resource.Group, Resource: resource.Resource, Name: name}
			g.grants[at] = one
			g.order = append(g.order, at)
		}
		one.Verbs = append(one.Verbs, verbs...)
		if !slices.Contains(one.For, why) {
			one.For = append(one.For, why)
		}
	}
}

// sorted returns all grants, without those that a cluster-wide grant covers.
func (g *gatherer) sorted() []Grant {
	var all []Grant
	for _, at := range g.order {
		one := *g.grants[at]
		if everywhere := g.grants[target{"", at.group, at.resource, at.name}]; everywhere != nil && at.namespace != "" {
			one.Verbs = slices.DeleteFunc(one.Verbs, func(verb string) bool { return slices.Contains(everywhere.Verbs, verb) })
		}
		slices.Sort(one.Verbs)
		if one.Verbs = slices.Compact(one.Verbs); len(one.Verbs) > 0 {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Grant) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return all
}

// byNamespace returns the grants of each namespace, and the namespaces in order.
func (p *Permissions) byNamespace() ([]string, map[string][]Grant) {
	all := map[string][]Grant{}
	for _, one := range p.Grants {
		all[one.Namespace] = append(all[one.Namespace], one)
	}
	return slices.Sorted(maps.Keys(all)), all
}

// quoteKind formats a kind for a note.
func quoteKind(gvk schema.GroupVersionKind) string {
	return fmt.Sprintf("%s of %s", gvk.Kind, gvk.GroupVersion())
}
