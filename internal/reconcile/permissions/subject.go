// Package permissions knows which RBAC rules each use of a resource needs, finds out which one is missing where the API server refuses a request, and says how to grant it.
package permissions

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Subject looks up the permissions that one TemplateController needs.
type Subject struct {
	tracker    *Tracker
	controller string // which is synced when something changes
	as         string // user that works; empty = the operator itself
	parents    kind.Kind
	anywhere   bool // whether children may be in other namespaces than their parents
}

// For returns the Subject of a TemplateController with parents of that kind, which works as that user.
func (t *Tracker) For(controller, as string, parents kind.Kind) Subject {
	return Subject{tracker: t, controller: controller, as: as, parents: parents}
}

// Anywhere returns the Subject of the same TemplateController, whose children may be in other namespaces than their parents, or not.
func (s Subject) Anywhere(anywhere bool) Subject {
	s.anywhere = anywhere
	return s
}

// Claim is what the controller needs for a use of a kind in a namespace.
func (s *Subject) Claim(use Use, kind kind.Kind, namespace string) Claim {
	return Claim{
		As: s.as, Use: use, Resource: kind.Resource.GroupResource(),
		Namespaced: kind.Namespaced, Namespace: namespace, Unlimited: !s.parents.Namespaced || s.anywhere && (use == Children || use == FormerChildren),
	}
}

// Missing returns a message about the missing permissions: whose, where, and which RBAC rule grants them.
// The error is the response to a request that needs the claim. pending is whether
// the message will soon say more.
func (s *Subject) Missing(err error, need Claim) (text string, pending bool) {
	var verb string
	if m := deniedVerb.FindStringSubmatch(err.Error()); m != nil {
		verb = m[1]
	}
	if text, pending = s.accountIsAbsent(); text != "" {
		return text, false
	}
	if s.as != "" && strings.HasPrefix(verb, "impersonate") {
		need.acting = true
		f := s.tracker.look(need, s.controller)
		return mayNotAct(need, f, operator(err)), pending || f.pending
	}
	f := s.tracker.look(need, s.controller)
	missing, all := f.missing, need.Use.Verbs()
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

// Denial names the permission that the server's answer to a request that needs the claim says is missing.
func (s *Subject) Denial(err error, need Claim) problem.Denial {
	d := problem.Denial{User: s.as, Resource: need.fullName() + dotted(need.Resource), Namespace: need.Namespace}
	if m := deniedVerb.FindStringSubmatch(err.Error()); m != nil {
		d.Verb = m[1]
	}
	return d
}

// Known returns the permissions of a claim that are known to be missing, or "". It does not report a service account that does not exist.
func (s *Subject) Known(need Claim) string {
	if absent, _ := s.accountIsAbsent(); absent != "" {
		return ""
	}
	f := s.tracker.look(need, s.controller)
	if len(f.missing) == 0 {
		return ""
	}
	return mayNot(need, f.missing, f.missing)
}

// missingToWrite returns which permission is missing to write a child. One on the parent may be missing, too.
func (s *Subject) missingToWrite(err error, namespace string, kind kind.Kind) (text string, pending bool) {
	if !finalizers.MatchString(err.Error()) {
		return s.Missing(err, s.Claim(Children, kind, namespace))
	}
	need := s.Claim(Finalizers, s.parents, namespace)
	if !s.parents.Namespaced {
		need.Namespace = ""
	}
	return mayNot(need, need.Use.Verbs(), need.Use.Verbs()) +
		", which the admission plugin OwnerReferencesPermissionEnforcement requires for blockOwnerDeletion in the owner reference", false
}

// WhyNot says why the server did not answer a request that needs the claim.
func (s *Subject) WhyNot(err error, need Claim) string {
	if Denied(err) {
		text, _ := s.Missing(err, need)
		return text
	}
	return problem.PublicReason(err)
}

// accountIsAbsent returns a message if the service account of the controller does not exist, or "". pending is whether
// this will be known soon. Call it if the account lacks a permission, or templater lacks the one to impersonate it.
func (s *Subject) accountIsAbsent() (text string, pending bool) {
	if s.as == "" {
		return "", false
	}
	namespace, name := spec.Account(s.as)
	f := s.tracker.look(Claim{Use: Existence, Resource: serviceAccounts, Namespaced: true, Namespace: namespace, Name: name}, s.controller)
	if !f.absent {
		return "", f.pending
	}
	return fmt.Sprintf("%s does not exist: create it with the permissions that the templates need, or correct spec.serviceAccountRef", DisplayName(s.as)), false
}

// NamespaceIsAbsent reports whether a namespace is known not to be there.
func (s *Subject) NamespaceIsAbsent(name string) bool {
	return s.tracker.look(Claim{Use: Existence, Resource: namespaces, Name: name}, s.controller).absent
}
