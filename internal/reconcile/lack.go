package reconcile

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/spec"
)

// The names in these texts of the server are those of users, resources and namespaces.
var (
	// What authorization answers, and what the admission plugin OwnerReferencesPermissionEnforcement does.
	authorization = regexp.MustCompile(`: User "[^"]*" cannot [-a-z:]+ resource "|cannot set blockOwnerDeletion`)
	finalizers    = regexp.MustCompile(`cannot set blockOwnerDeletion`)
	deniedVerb    = regexp.MustCompile(`: User "[^"]*" cannot ([-a-z:]+) resource "`)
	deniedAccount = regexp.MustCompile(`: User "(` + spec.AccountPrefix + `[-.a-z0-9]+:[-.a-z0-9]+)" cannot `)
)

// lacksRight reports whether it is for a missing right that the server forbids. Admission rules, such
// as a quota, answer with the same code and reason, so there is only the text to tell by.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && authorization.MatchString(err.Error()) && !problem.DeniedByAdmission(err)
}

// lacking says which rights are missing, of whom, where, and by which rule they can be granted.
// The error is the server's answer to a request that needs the claim. pending tells that
// there will soon be more to say.
func (c *controller) lacking(err error, need claim) (text string, pending bool) {
	var verb string
	if m := deniedVerb.FindStringSubmatch(err.Error()); m != nil {
		verb = m[1]
	}
	if c.as != "" && strings.HasPrefix(verb, "impersonate") {
		need.acting = true
		f := c.rights.look(need, c.name)
		return mayNotAct(need, f, operator(err)), f.pending
	}
	if text, pending = c.accountIsAbsent(); text != "" {
		return text, false
	}
	f := c.rights.look(need, c.name)
	missing, all := f.missing, need.use.verbs()
	pending = pending || f.pending
	switch {
	case len(missing) > 0:
		return mayNot(need, missing, missing), pending
	case verb == "":
		return mayNot(need, all, all), pending
	case f.known: // granted meanwhile
		all = []string{verb}
	}
	return mayNot(need, []string{verb}, all), pending
}

// mayNot says that the verbs are missing, with the rule for those to add.
func mayNot(need claim, missing, add []string) string {
	return fmt.Sprintf("%s may not %s %s: add %s to %s", whoIs(need.as), problem.And(missing), need.what(), need.rule(add), need.role())
}

// missingRight says which right is missing to write a child. One on the parent may be, too.
func (c *controller) missingRight(err error, at kube.Location, kind kind.Kind) (text string, pending bool) {
	if !finalizers.MatchString(err.Error()) {
		return c.lacking(err, c.claim(asChildren, kind, at.Namespace))
	}
	need := c.claim(asFinalizers, c.kind, at.Namespace)
	if !c.kind.Namespaced {
		need.namespace = ""
	}
	return mayNot(need, need.use.verbs(), need.use.verbs()) +
		", which the admission plugin OwnerReferencesPermissionEnforcement asks for, so that the child can block the deletion of its parent", false
}

// whyNot says why the server did not answer a request that needs the claim.
func (c *controller) whyNot(err error, need claim) string {
	if lacksRight(err) {
		text, _ := c.lacking(err, need)
		return text
	}
	return problem.PublicReason(err)
}

// claim is what the controller needs for a use of a kind in a namespace.
func (c *controller) claim(use use, kind kind.Kind, namespace string) claim {
	return claim{
		as: c.as, use: use, resource: kind.Resource.GroupResource(),
		namespaced: kind.Namespaced, namespace: namespace, unlimited: !c.kind.Namespaced,
	}
}

// operator names the account that templater itself has, where the server tells it in its answer to a request of that.
func operator(err error) string {
	if m := deniedAccount.FindStringSubmatch(err.Error()); m != nil {
		return whoIs(m[1])
	}
	return whoIs("")
}

// mayNotAct says which right the operator lacks to act as the claim's user.
func mayNotAct(need claim, f finding, operator string) string {
	namespace, name := spec.Account(need.as)
	if !f.constrained {
		return fmt.Sprintf(`templater may not act as %s: add {apiGroups: [""], resources: [serviceaccounts], resourceNames: [%s], verbs: [impersonate]} to a Role in namespace %s that a RoleBinding gives to %s`,
			whoIs(need.as), name, namespace, operator)
	}
	verbs := f.missing
	if len(verbs) == 0 {
		for _, verb := range need.use.verbs() {
			verbs = append(verbs, actingPrefix+verb)
		}
	}
	plain, quoted := make([]string, len(verbs)), make([]string, len(verbs))
	for i, verb := range verbs {
		plain[i], quoted[i] = strings.TrimPrefix(verb, actingPrefix), `"`+verb+`"`
	}
	return fmt.Sprintf("templater may act as %s, but not to %s %s: add %s to %s that a %s gives to %s",
		whoIs(need.as), problem.And(plain), need.what(), need.rule(quoted), need.kindOfRole(), need.kindOfBinding(), operator)
}

func whoIs(user string) string {
	if user == "" {
		return "templater"
	}
	namespace, name := spec.Account(user)
	return "service account " + namespace + "/" + name
}

// what names the resource and where it is: "configmaps in namespace a".
func (c claim) what() string {
	switch {
	case c.namespace != "":
		return c.brief()
	case c.namespaced:
		return c.brief() + " in all namespaces"
	}
	return c.brief() + " in the cluster"
}

// brief names the resource, and the namespace if it is about one.
func (c claim) brief() string {
	name := c.fullName() + dotted(c.resource)
	if c.namespace != "" {
		name += " in namespace " + c.namespace
	}
	return name
}

func (c claim) fullName() string {
	if sub := c.use.subresource(); sub != "" {
		return c.resource.Resource + "/" + sub
	}
	return c.resource.Resource
}

// dotted is what follows the name of a resource to tell its group.
func dotted(resource schema.GroupResource) string {
	if resource.Group == "" {
		return ""
	}
	return "." + resource.Group
}

// rule is the rule of a role that grants the verbs.
func (c claim) rule(verbs []string) string {
	group := c.resource.Group
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("{apiGroups: [%s], resources: [%s], verbs: [%s]}", group, c.fullName(), strings.Join(verbs, ", "))
}

// role names the role that the rule is for.
func (c claim) role() string {
	if c.as == "" {
		return `a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true"`
	}
	text := c.kindOfRole() + " that a " + c.kindOfBinding() + " gives to it"
	if c.namespaced && c.namespace == "" && !c.unlimited {
		text += ", or limit spec.watch.namespaces"
	}
	return text
}

func (c claim) kindOfRole() string {
	if c.namespace == "" {
		return "a ClusterRole"
	}
	return "a Role in namespace " + c.namespace
}

func (c claim) kindOfBinding() string {
	if c.namespace == "" {
		return "ClusterRoleBinding"
	}
	return "RoleBinding"
}
