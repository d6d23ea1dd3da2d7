package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/reconcile/crd"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// gatherer gathers the permissions of one TemplateController.
type gatherer struct {
	key      string
	spec     *v1.TemplateControllerSpec
	compiled *spec.Compiled
	kinds    Kinds
	grants   map[target]*Grant
	order    []target // of insertion
	notes    []string
}

// gather collects all permissions.
func (g *gatherer) gather(blocking bool) error {
	parents, err := g.resolve(g.compiled.GVK)
	if err != nil {
		return err
	}
	if rejection := spec.CheckKind(g.key, g.spec, parents); rejection != nil && g.known(g.compiled.GVK) {
		return errors.New(rejection.Message)
	}
	g.parents(parents, blocking)
	if g.spec.CRD != nil {
		g.add(nil, crd.Resource.GroupResource(), permissions.CRDs.Verbs(), "spec.crd")
		g.add(nil, parents.Resource.GroupResource(), []string{"list"}, "spec.crd: stored objects are checked before the schema changes")
	}
	if err := g.children(); err != nil {
		return err
	}
	for i := range g.compiled.Related {
		if err := g.related(&g.compiled.Related[i]); err != nil {
			return err
		}
	}
	if g.spec.ServiceAccountRef == nil {
		return nil // the operator has the remaining permissions anyway
	}
	if g.selectsNamespaces() {
		g.add(nil, schema.GroupResource{Resource: "namespaces"}, permissions.Namespaces.Verbs(), "namespaceSelector")
	}
	g.add(g.eventNamespaces(parents), schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, permissions.Events.Verbs(), "Events about the parents")
	return nil
}

// parents adds the permissions on the parents.
func (g *gatherer) parents(parents kind.Kind, blocking bool) {
	use := func(u permissions.Use, verbs []string, why string) {
		resource := parents.Resource.GroupResource()
		resource.Resource = u.Resource(resource.Resource)
		g.add(g.spec.Watch.Namespaces, resource, verbs, why)
	}
	hasChildren := len(g.spec.Children) > 0 || len(spec.Finals(g.spec)) > 0
	reading := slices.DeleteFunc(permissions.Parents.Verbs(), func(verb string) bool {
		return verb == "get" && !hasChildren // only needed to confirm that the parent of children is deleted
	})
	use(permissions.Parents, reading, "the parents")
	if spec.NeedsFinalizer(g.spec) {
		use(permissions.Holding, permissions.Holding.Verbs(), "their finalizer")
	}
	if !g.known(g.compiled.GVK) || spec.WritesStatus(g.spec, g.compiled.ReadyCondition, parents) {
		use(permissions.Status, permissions.Status.Verbs(), "their status")
	}
	if blocking && slices.ContainsFunc(g.all(), func(c v1.Child) bool {
		return c.DeletionPolicy != v1.DeletionOrphan && c.Scope != v1.ScopeCluster
	}) {
		use(permissions.Finalizers, permissions.Finalizers.Verbs(), "owner references to them")
	}
}

// all returns the child templates, including those of finalize.
func (g *gatherer) all() []v1.Child { return slices.Concat(g.spec.Children, spec.Finals(g.spec)) }

// children adds the permissions on the children.
func (g *gatherer) children() error {
	read := spec.ChildNamespaces(g.spec)
	for _, entry := range g.all() {
		written := g.writtenIn(&entry)
		yields, complete := outline.Yields(g.compiled.Program, entry.Name)
		if !complete {
			g.note("%s: cannot determine the kinds of all rendered objects: add the missing rules manually", syntax.ChildName(entry.Name))
		}
		for _, y := range yields {
			gv, err := schema.ParseGroupVersion(y.APIVersion)
			if err != nil {
				g.note("%s: %q is not an apiVersion", syntax.ChildName(entry.Name), y.APIVersion)
				continue
			}
			of, err := g.resolve(gv.WithKind(y.Kind))
			if err != nil {
				return err
			}
			g.add(placesOf(of, read), of.Resource.GroupResource(), permissions.Related.Verbs(), syntax.ChildName(entry.Name))
			g.add(placesOf(of, written), of.Resource.GroupResource(), verbsOn(g.spec, &entry), syntax.ChildName(entry.Name))
			if needs := escalating[gv.WithKind(y.Kind).GroupKind()]; needs != "" {
				if y.Role != "" {
					g.bind(placesOf(of, written), y.Role, syntax.ChildName(entry.Name))
					continue
				}
				g.note("%s renders a %s, which templater can only write with all permissions that it grants, or %s: add these rules by hand", syntax.ChildName(entry.Name), y.Kind, needs)
			}
		}
	}
	return nil
}

// bind adds the permission to bind a role, such as clusterroles/view, in namespaces.
func (g *gatherer) bind(namespaces []string, role, why string) {
	resource, name, _ := strings.Cut(role, "/")
	g.addNamed(namespaces, schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}, name, []string{"bind"}, why)
}

// writtenIn returns the namespaces of the objects of a child template; nil = all. One template with scope Cluster
// causes children of all templates to be read in all namespaces, but not to be written there.
func (g *gatherer) writtenIn(entry *v1.Child) []string {
	if g.spec.ServiceAccountRef == nil || entry.Scope == v1.ScopeCluster {
		return nil
	}
	return g.spec.Watch.Namespaces
}

// escalating are kinds that grant permissions, with the verbs that allow writing them without having these permissions. See
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping.
var escalating = map[schema.GroupKind]string{
	{Group: rbacv1.GroupName, Kind: "Role"}:               "the verb escalate on roles",
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}:        "the verb escalate on clusterroles",
	{Group: rbacv1.GroupName, Kind: "RoleBinding"}:        "the verb bind on the role that it names",
	{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}: "the verb bind on the clusterrole that it names",
}

// verbsOn returns the verbs for the objects of a child template.
func verbsOn(of *v1.TemplateControllerSpec, entry *v1.Child) []string {
	stay := entry.PrunePolicy == v1.PruneOrphan && entry.DeletionPolicy == v1.DeletionOrphan && entry.UpdateStrategy.Type != v1.UpdateRecreate
	return slices.DeleteFunc(permissions.Children.Verbs(), func(verb string) bool { return verb == "delete" && stay && of.Finalize == nil })
}

// related adds the permissions on related objects.
func (g *gatherer) related(entry *spec.Related) error {
	of, err := g.resolve(entry.GVK)
	if err != nil {
		return err
	}
	if rejection := entry.CheckKind(g.key, of); rejection != nil {
		return errors.New(rejection.Message)
	}
	why, resource := syntax.RelatedName(entry.Name), of.Resource.GroupResource()
	g.add(placesOf(of, entry.Namespaces), resource, permissions.Related.Verbs(), why)
	if entry.Logs != nil {
		resource.Resource = permissions.Logs.Resource(resource.Resource)
		g.add(placesOf(of, entry.Namespaces), resource, permissions.Logs.Verbs(), "their logs")
	}
	return nil
}

// placesOf returns the namespaces in which permissions on a kind are needed; nil means all.
func placesOf(of kind.Kind, namespaces []string) []string {
	if !of.Namespaced {
		return nil
	}
	return namespaces
}

// selectsNamespaces reports whether labels of Namespaces decide about something.
func (g *gatherer) selectsNamespaces() bool {
	return g.compiled.NamespaceSelector != nil || slices.ContainsFunc(g.compiled.Related, func(r spec.Related) bool { return r.NamespaceSelector != nil })
}

// eventNamespaces returns the namespaces in which Events about parents are written; nil means all.
func (g *gatherer) eventNamespaces(parents kind.Kind) []string {
	switch {
	case parents.Namespaced:
		return g.spec.Watch.Namespaces
	case parents.Resource.Group == "" && parents.Kind == "Namespace":
		return nil // each is about one, and in it
	}
	return []string{"default"}
}

// resolve finds a kind. It guesses, and notes that, where nothing is known of the kind.
func (g *gatherer) resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := g.kinds.Resolve(gvk)
	var missing *kind.NotFoundError
	switch {
	case !errors.As(err, &missing):
		return found, err
	case missing.Served != "":
		return kind.Kind{}, fmt.Errorf("no %s; version %s of that kind exists", quoteKind(gvk), missing.Served)
	}
	guess := kind.Guess(gvk)
	g.note("unknown kind %s: pass the file of its CustomResourceDefinition, use --cluster, or check that its resource is %s and that it is namespaced", quoteKind(gvk), guess.Resource.GroupResource())
	return guess, nil
}

// known reports whether a kind is known, and not guessed.
func (g *gatherer) known(gvk schema.GroupVersionKind) bool {
	_, err := g.kinds.Resolve(gvk)
	return err == nil
}

// note adds a note, once.
func (g *gatherer) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}
