package rights

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Refusal tells what the server's answer to the write of an object of that kind in a namespace means. what names the
// write: "create ConfigMap default/a".
func (s *Subject) Refusal(err error, what, namespace string, kind kind.Kind) *problem.Problem {
	p := &problem.Problem{Reason: v1.ReasonChildRejected, Retry: problem.RetryBackoff, Write: what, Namespace: namespace}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Reason, p.Retry = v1.ReasonNamespaceEnding, problem.RetrySlower
		p.Message = "cannot " + what + ": its namespace is being deleted; change metadata.namespace in the template, or create the namespace anew once it is gone"
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
