package spec

import (
	"fmt"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Rejection explains why a spec is invalid, with the reason and message of the Accepted condition.
type Rejection struct {
	Reason, Message string
	// Findings are all errors that can be found without the API server.
	Findings []finding.Finding
}

// Rejectf returns a Rejection with a formatted message.
func Rejectf(reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// wrong returns a Rejection with one finding about a field of the spec.
func wrong(code finding.Code, where, format string, args ...any) *Rejection {
	f := finding.Finding{Code: code, Severity: finding.Error, Where: where, Message: fmt.Sprintf(format, args...)}
	return &Rejection{Reason: v1.ReasonInvalidSpec, Message: f.String(), Findings: []finding.Finding{f}}
}

// CheckAccount returns why a spec without a service account is rejected if one is required, or nil.
func CheckAccount(spec *v1.TemplateControllerSpec) *Rejection {
	if spec.ServiceAccountRef != nil {
		return nil
	}
	const message = "required by --require-service-account: name a ServiceAccount with permissions for the parents and their children"
	r := Rejectf(v1.ReasonServiceAccountRequired, "spec.serviceAccountRef is %s", message)
	r.Findings = []finding.Finding{{Code: finding.ServiceAccount, Severity: finding.Error, Where: "spec.serviceAccountRef", Message: message}}
	return r
}

// mostFaults is the maximum number of faults of one kind in a rejection.
const mostFaults = 50

// faults collects the faults of one kind, up to mostFaults.
type faults struct {
	kept []*Rejection
	// left is true if there are more.
	left bool
}

// full reports whether no more faults are collected.
func (f *faults) full() bool { return len(f.kept) >= mostFaults }

// add adds a fault; nil is ignored.
func (f *faults) add(r *Rejection) {
	switch {
	case r == nil:
	case f.full():
		f.left = true
	default:
		f.kept = append(f.kept, r)
	}
}

// joined returns all faults as one Rejection, or nil if there are none.
func (f *faults) joined() *Rejection {
	r := joined(f.kept...)
	if f.left {
		r.Findings = append(r.Findings, finding.More())
	}
	return r
}

// joined returns a Rejection with the findings of all rejections, and the message of the first. It ignores nil.
func joined(all ...*Rejection) *Rejection {
	var first *Rejection
	for _, r := range all {
		switch {
		case r == nil:
		case first == nil:
			first = &Rejection{Reason: r.Reason, Message: r.Message, Findings: slices.Clone(r.Findings)}
		default:
			first.Findings = append(first.Findings, r.Findings...)
		}
	}
	return first
}

// unfit returns a Rejection of a field that a kind does not support.
func unfit(reason, where, format string, args ...any) *Rejection {
	r := wrong(finding.UnfitKind, where, format, args...)
	r.Reason = reason
	return r
}

// confinedKind returns why a NamespacedTemplateController cannot use a kind at a place in its spec, or nil.
func confinedKind(key, where string, kind kind.Kind) *Rejection {
	if !v1.Namespaced(key) || kind.Namespaced {
		return nil
	}
	return unfit(v1.ReasonInvalidSpec, where, "%s is cluster-scoped, and a NamespacedTemplateController only has access to its namespace: use a namespaced kind, or "+AskForController, kind.Kind)
}

// CheckKind returns why the spec of the TemplateController with that key is not supported for its parents' kind, or nil.
func CheckKind(key string, spec *v1.TemplateControllerSpec, kind kind.Kind) *Rejection {
	if r := confinedKind(key, "spec.watch", kind); r != nil {
		return r
	}
	w, writes := spec.Watch, spec.Status != nil && spec.Status.Template != ""
	switch {
	case !kind.Namespaced && (len(w.Namespaces) > 0 || w.NamespaceSelector != nil):
		return unfit(v1.ReasonInvalidSpec, "spec.watch", "%s is cluster-scoped: remove namespaces and namespaceSelector", kind.Kind)
	case writes && !kind.Custom:
		return unfit(v1.ReasonBuiltInKind, "spec.status.template", "%s is not a custom resource: templater only writes the status of custom resources: remove the template", kind.Kind)
	case writes && kind.Status == nil:
		return unfit(v1.ReasonNoStatusSubresource, "spec.status.template", "%s has no status subresource: add \"subresources: {status: {}}\" to version %s of its CustomResourceDefinition", kind.Kind, kind.Resource.Version)
	}
	return checkScope(spec, kind)
}
