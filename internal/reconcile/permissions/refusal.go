package permissions

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// The names in these API server messages are those of users, resources and namespaces.
var (
	// Messages of the authorizer and of the admission plugin OwnerReferencesPermissionEnforcement.
	authorization = regexp.MustCompile(`: User "[^"]*" cannot [-a-z:]+ resource "|cannot set blockOwnerDeletion if `)
	finalizers    = regexp.MustCompile(`cannot set blockOwnerDeletion if `)
	unknownOwner  = regexp.MustCompile(`cannot set blockOwnerDeletion in this case because cannot find RESTMapping`)
	deniedVerb    = regexp.MustCompile(`: User "[^"]*" cannot ([-a-z:]+) resource "`)
	deniedAccount = regexp.MustCompile(`: User "(` + spec.AccountPrefix + `[-.a-z0-9]+:[-.a-z0-9]+)" cannot `)
)

// Denied reports whether a request was forbidden by RBAC. Admission, such as a quota, responds with the same code and
// reason, so only the message distinguishes them.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) && authorization.MatchString(err.Error()) && request.AdmissionRefusal(err) == ""
}

// OwnerUnknown reports whether a request was forbidden because an admission plugin has not discovered the kind of the parent yet.
func OwnerUnknown(err error) bool {
	return apierrors.IsForbidden(err) && unknownOwner.MatchString(err.Error())
}

// operator returns templater's own service account if the response contains it.
func operator(err error) string {
	if m := deniedAccount.FindStringSubmatch(err.Error()); m != nil {
		return DisplayName(m[1])
	}
	return DisplayName("")
}

// Refusal returns the problem of a rejected write of an object of that kind in a namespace. what is the write, such as
// "create ConfigMap default/a".
func (s *Checker) Refusal(err error, what, namespace string, kind kind.Kind) *problem.Problem {
	p := &problem.Problem{Reason: v1.ReasonChildRejected, Retry: problem.RetryBackoff, Write: what, Namespace: namespace}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Reason, p.Retry = v1.ReasonNamespaceTerminating, problem.RetrySlower
		p.Message = "cannot " + what + ": its namespace is being deleted; change metadata.namespace in the template, or recreate the namespace once it is deleted"
	case OwnerUnknown(err):
		p.Message = "cannot " + what + ": the admission plugin OwnerReferencesPermissionEnforcement has not discovered the kind of the parent yet: it does so every 30 seconds, and templater retries"
	case Denied(err):
		text, pending := s.missingToWrite(err, namespace, kind)
		p.Reason, p.Message, p.Pending = v1.ReasonChildForbidden, "cannot "+what+": "+text, pending
		p.Lacks(s.Denial(err, s.Claim(Children, kind, namespace)))
	case request.MissingNamespace(err):
		p.Reason, p.Retry = v1.ReasonNamespaceNotFound, problem.RetrySlower
		p.Message = "cannot " + what + ": its namespace does not exist; create the namespace, or change metadata.namespace in the template"
	default:
		if problem.Unanswered(err) {
			p.Reason = v1.ReasonChildRequestFailed
		}
		p.Message, p.Faults = "cannot "+what+": "+problem.PublicReason(err), problem.SchemaFaults(err)
	}
	return p
}
