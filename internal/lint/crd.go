package lint

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/crd"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// withCRD adds the schema of spec.crd to schemas. It returns why spec.crd is invalid; nil = it is valid, or absent.
func withCRD(tc *v1.TemplateController, schemas openapi.Set) (openapi.Set, *spec.Rejection) {
	definition, r := CRD(tc)
	if definition == nil {
		return schemas, r
	}
	return openapi.Join(openapi.FromCRD(definition), schemas), nil
}

// CRD returns the CustomResourceDefinition of spec.crd, or why it is invalid. Both are nil if there is no spec.crd.
func CRD(tc *v1.TemplateController) (*apiextensionsv1.CustomResourceDefinition, *spec.Rejection) {
	if tc.Spec.CRD == nil {
		return nil, nil
	}
	definition, errs := crd.Of(tc.Name, &tc.Spec)
	if len(errs) == 0 {
		return definition, nil
	}
	r := &spec.Rejection{Reason: v1.ReasonInvalidCRD}
	for _, err := range errs {
		message := problem.Line(err.Detail)
		if err.BadValue != (field.OmitValueType{}) && err.Type != field.ErrorTypeRequired {
			message = problem.Line(fmt.Sprintf("%q: %s", fmt.Sprint(err.BadValue), err.Detail))
		}
		r.Findings = append(r.Findings, finding.Finding{Code: finding.Definition, Severity: finding.Error, Where: err.Field, Message: message})
	}
	r.Message = problem.JoinFunc(r.Findings, finding.Finding.String)
	return nil, r
}

// unapproved warns about spec.crd in a group of Kubernetes, in which the API server only creates CustomResourceDefinitions with an annotation. It is
// not an error: an existing one may have it, and be taken over.
func unapproved(tc *v1.TemplateController) []finding.Finding {
	group := spec.WatchedKind(&tc.Spec).Group
	if tc.Spec.CRD == nil || !strings.HasSuffix("."+group, ".k8s.io") && !strings.HasSuffix("."+group, ".kubernetes.io") {
		return nil
	}
	return []finding.Finding{{
		Code: finding.Definition, Severity: finding.Warning, Where: "spec.watch.apiVersion",
		Message: fmt.Sprintf("%s is a group of Kubernetes: the API server creates a CustomResourceDefinition in it only with the annotation %s, which templater does not set: use a group of a domain of yours",
			group, apiextensionsv1.KubeAPIApprovedAnnotation),
	}}
}
