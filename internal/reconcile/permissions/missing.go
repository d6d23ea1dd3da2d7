package permissions

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Missing returns a message about the missing permissions: of which user, where, and the RBAC rule that grants them.
// err is the response to a request that needs the claim. pending reports whether a more specific message will follow
// soon.
func (s *Checker) Missing(err error, need Requirement) (text string, pending bool) {
	var verb string
	if m := deniedVerb.FindStringSubmatch(err.Error()); m != nil {
		verb = m[1]
	}
	if text, pending = s.accountIsAbsent(); text != "" {
		return text, false
	}
	if s.as != "" && strings.HasPrefix(verb, "impersonate") {
		need.impersonation = true
		f := s.tracker.look(need, s.controller)
		return notAllowedToImpersonate(need, f, operator(err)), pending || f.pending
	}
	f := s.tracker.look(need, s.controller)
	missing, all := f.missing, need.Use.Verbs()
	pending = pending || f.pending
	switch {
	case len(missing) > 0:
		return notAllowed(need, missing, missing), pending
	case verb == "":
		return notAllowed(need, all, all), pending
	case f.known: // granted meanwhile
		all = []string{verb}
	}
	return notAllowed(need, []string{verb}, all), pending
}

// Denial returns the permission that is missing according to err, the response to a request that needs the claim.
func (s *Checker) Denial(err error, need Requirement) problem.Denial {
	d := problem.Denial{User: s.as, Resource: need.fullName() + dotted(need.Resource), Namespace: need.Namespace}
	if m := deniedVerb.FindStringSubmatch(err.Error()); m != nil {
		d.Verb = m[1]
	}
	return d
}

// Known returns a message about the permissions of a claim that are known to be missing, or "". It does not report a
// service account that does not exist.
func (s *Checker) Known(need Requirement) string {
	if absent, _ := s.accountIsAbsent(); absent != "" {
		return ""
	}
	f := s.tracker.look(need, s.controller)
	if len(f.missing) == 0 {
		return ""
	}
	return notAllowed(need, f.missing, f.missing)
}

// missingToWrite returns a message about the permission that is missing to write a child. That may be one for the
// parent.
func (s *Checker) missingToWrite(err error, namespace string, kind kind.Kind) (text string, pending bool) {
	if !finalizers.MatchString(err.Error()) {
		return s.Missing(err, s.Claim(Children, kind, namespace))
	}
	need := s.Claim(Finalizers, s.parents, namespace)
	if !s.parents.Namespaced {
		need.Namespace = ""
	}
	return notAllowed(need, need.Use.Verbs(), need.Use.Verbs()) +
		", which the admission plugin OwnerReferencesPermissionEnforcement requires for blockOwnerDeletion in the owner reference", false
}

// WhyNot returns why a request that needs the claim failed.
func (s *Checker) WhyNot(err error, need Requirement) string {
	if Denied(err) {
		text, _ := s.Missing(err, need)
		return text
	}
	return problem.PublicReason(err)
}

// accountIsAbsent returns a message if the service account of the controller does not exist, or "". pending reports
// whether this will be known soon. Call it if the service account lacks a permission, or templater is not allowed to
// impersonate it.
func (s *Checker) accountIsAbsent() (text string, pending bool) {
	if s.as == "" {
		return "", false
	}
	namespace, name := spec.Account(s.as)
	f := s.tracker.look(Requirement{Use: Existence, Resource: serviceAccounts, Namespaced: true, Namespace: namespace, Name: name}, s.controller)
	if !f.absent {
		return "", f.pending
	}
	return fmt.Sprintf("%s does not exist: create it with the permissions that the templates need, correct spec.serviceAccountRef, or, if its namespace was deleted, bind the permissions to its name with a ClusterRoleBinding", DisplayName(s.as)), false
}
