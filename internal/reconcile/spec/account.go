package spec

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
)

// AccountPrefix begins the user name of a service account.
// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
const AccountPrefix = "system:serviceaccount:"

// User returns the user that a controller works as; empty is the operator itself.
func User(spec *v1.TemplateControllerSpec) string {
	if spec.ServiceAccountRef == nil {
		return ""
	}
	return AccountPrefix + spec.ServiceAccountRef.Namespace + ":" + spec.ServiceAccountRef.Name
}

// Account returns namespace and name of the service account that a user is.
func Account(user string) (namespace, name string) {
	namespace, name, _ = strings.Cut(strings.TrimPrefix(user, AccountPrefix), ":")
	return namespace, name
}

// ChildNamespaces returns the namespaces that children are read in; nil means all. An account
// needs no rights but in those of the parents, unless some entry has objects in others. The operator reads in all of them, for it
// shares its watches.
func ChildNamespaces(spec *v1.TemplateControllerSpec) []string {
	if spec.ServiceAccountRef == nil || len(spec.Watch.Namespaces) == 0 || CrossScope(spec) {
		return nil
	}
	return spec.Watch.Namespaces
}
