package rbac

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/templater-dev/templater/api/v1"
)

// aggregate is the label of ClusterRoles that are aggregated to templater's own permissions.
const aggregate = "rbac.templater.dev/aggregate-to-templater"

// Objects returns the manifests that grant the permissions, in the order of application: with an account, the ServiceAccount, its roles and
// bindings, and the permission to impersonate it; without one, a ClusterRole that is aggregated to templater's own permissions.
func (p *Permissions) Objects() []any {
	if p.Account == nil {
		return []any{p.shared()}
	}
	account := *p.Account
	objects := []any{&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: at(account.Namespace, account.Name)}}
	namespaces, all := p.byNamespace()
	for _, ns := range namespaces {
		objects = append(objects, granting(ns, p.name(), rulesOf(all[ns]), account)...)
	}
	acting := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{account.Name}, Verbs: []string{"impersonate"}}
	return append(objects, granting(account.Namespace, "templater-impersonate-"+account.Name, []rbacv1.PolicyRule{acting}, p.Operator)...)
}

// name returns the name of the roles and bindings.
func (p *Permissions) name() string {
	if namespace, name := v1.SplitKey(p.Controller); namespace != "" {
		return "templater-ns." + name // no TemplateController has such a name
	}
	return "templater-" + p.Controller
}

// shared returns the ClusterRole that is aggregated to templater's own permissions.
func (p *Permissions) shared() *rbacv1.ClusterRole {
	role := clusterRole(p.name(), nil)
	role.Labels = map[string]string{aggregate: "true"}
	merged := map[target]int{}
	for _, one := range p.Grants { // templater's own account works in all namespaces
		key := target{"", one.Group, one.Resource, one.Name}
		if i, known := merged[key]; known {
			role.Rules[i].Verbs = slices.Compact(slices.Sorted(slices.Values(append(role.Rules[i].Verbs, one.Verbs...))))
			continue
		}
		merged[key] = len(role.Rules)
		role.Rules = append(role.Rules, ruleOf(one))
	}
	return role
}

// granting returns a role and its binding: in a namespace, or cluster-wide if that is "".
func granting(namespace, name string, rules []rbacv1.PolicyRule, to v1.ServiceAccountRef) []any {
	name = name[:min(len(name), validation.DNS1123SubdomainMaxLength)]
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: to.Namespace, Name: to.Name}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	if namespace == "" {
		return []any{clusterRole(name, rules), &rbacv1.ClusterRoleBinding{TypeMeta: ofRBAC("ClusterRoleBinding"), ObjectMeta: at("", name), RoleRef: ref, Subjects: subjects}}
	}
	ref.Kind = "Role"
	return []any{
		&rbacv1.Role{TypeMeta: ofRBAC("Role"), ObjectMeta: at(namespace, name), Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: ofRBAC("RoleBinding"), ObjectMeta: at(namespace, name), RoleRef: ref, Subjects: subjects},
	}
}

func clusterRole(name string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{TypeMeta: ofRBAC("ClusterRole"), ObjectMeta: at("", name), Rules: rules}
}

func rulesOf(grants []Grant) []rbacv1.PolicyRule {
	rules := make([]rbacv1.PolicyRule, len(grants))
	for i, one := range grants {
		rules[i] = ruleOf(one)
	}
	return rules
}

func ruleOf(one Grant) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{APIGroups: []string{one.Group}, Resources: []string{one.Resource}, Verbs: slices.Clone(one.Verbs)}
	if one.Name != "" {
		rule.ResourceNames = []string{one.Name}
	}
	return rule
}

func ofRBAC(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func at(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
