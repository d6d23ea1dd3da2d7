// Package permissions maps each use of a resource to the RBAC rules that it needs, finds the missing rule after a Forbidden response, and describes how to grant it.
package permissions

import (
	"github.com/templater-dev/templater/internal/kube/kind"
)

// Checker looks up the permissions that one TemplateController needs.
type Checker struct {
	tracker    *Tracker
	controller string // synced when a result changes
	as         string // impersonated user; empty = the operator itself
	parents    kind.Kind
	anywhere   bool // children may be in other namespaces than their parents
}

// For returns the Subject of a TemplateController that impersonates the user as and has parents of the given kind.
func (t *Tracker) For(controller, as string, parents kind.Kind) Checker {
	return Checker{tracker: t, controller: controller, as: as, parents: parents}
}

// Anywhere returns a copy of the Subject. anywhere is true if children may be in other namespaces than their parents.
func (s Checker) Anywhere(anywhere bool) Checker {
	s.anywhere = anywhere
	return s
}

// WithoutReviews returns a copy of the Subject that sends no access reviews: it only knows the response to a request.
func (s Checker) WithoutReviews() Checker {
	s.tracker = nil
	return s
}

// Claim returns the claim to use a kind in a namespace; "" means all namespaces, or a cluster-scoped kind.
func (s *Checker) Claim(use Use, kind kind.Kind, namespace string) Requirement {
	return Requirement{
		As: s.as, Use: use, Resource: kind.Resource.GroupResource(),
		Namespaced: kind.Namespaced, Namespace: namespace, Unlimited: !s.parents.Namespaced || s.anywhere && (use == Children || use == FormerChildren),
	}
}

// NamespaceIsAbsent reports whether a namespace is known not to exist.
func (s *Checker) NamespaceIsAbsent(name string) bool {
	return s.tracker.look(Requirement{Use: Existence, Resource: namespaces, Name: name}, s.controller).absent
}
