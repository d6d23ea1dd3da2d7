package minimalrole

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/templater-dev/templater/api/v1"
)

// aggregate is the label of ClusterRoles whose rights templater's own account has.
const aggregate = "rbac.templater.dev/aggregate-to-templater"

// Objects returns what grants the rights, in an order in which it can be applied: with an account, the ServiceAccount, roles and
// bindings for it, and what lets templater act as it; without one, a ClusterRole whose rights templater's own account gets.
func (r *Rights) Objects() []any {
	if r.Account == nil {
		return []any{r.shared()}
	}
	account := *r.Account
	objects := []any{&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: at(account.Namespace, account.Name)}}
	namespaces, all := r.byNamespace()
	for _, ns := range namespaces {
		objects = append(objects, granting(ns, r.name(), rulesOf(all[ns]), account)...)
	}
	acting := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{account.Name}, Verbs: []string{"impersonate"}}
	return append(objects, granting(account.Namespace, "templater-acts-as-"+account.Name, []rbacv1.PolicyRule{acting}, r.Operator)...)
}

// name is that of the roles and bindings.
func (r *Rights) name() string { return "templater-" + r.Controller }

// shared returns the ClusterRole that gives the rights to templater's own account.
func (r *Rights) shared() *rbacv1.ClusterRole {
	role := clusterRole(r.name(), nil)
	role.Labels = map[string]string{aggregate: "true"}
	merged := map[target]int{}
	for _, one := range r.Grants { // that account works in all namespaces
		key := target{"", one.Group, one.Resource}
		if i, known := merged[key]; known {
			role.Rules[i].Verbs = slices.Compact(slices.Sorted(slices.Values(append(role.Rules[i].Verbs, one.Verbs...))))
			continue
		}
		merged[key] = len(role.Rules)
		role.Rules = append(role.Rules, ruleOf(one))
	}
	return role
}

// granting returns a role and what binds it to an account: in a namespace, or, if that is "", in all of them.
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
	return rbacv1.PolicyRule{APIGroups: []string{one.Group}, Resources: []string{one.Resource}, Verbs: slices.Clone(one.Verbs)}
}

func ofRBAC(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

func at(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
