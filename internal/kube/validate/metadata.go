package validate

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nameRules are the rules for names that are no DNS subdomains, by group and kind, or by group if the kind is empty.
var nameRules = map[string]func(string) []string{
	"Namespace":                   content.IsDNS1123Label,
	"Service":                     content.IsDNS1123Label,
	".rbac.authorization.k8s.io":  content.IsPathSegmentName,
	"IPAddress.networking.k8s.io": content.IsPathSegmentName,
	"CertificateSigningRequest.certificates.k8s.io": content.IsPathSegmentName,
	"ClusterTrustBundle.certificates.k8s.io":        content.IsPathSegmentName,
	"APIService.apiregistration.k8s.io":             content.IsPathSegmentName,
	"StatefulSet.apps":                              content.IsDNS1123Label,
	"CronJob.batch":                                 cronJobName,
}

// cronJobName leaves room for the suffix of the names of Jobs.
func cronJobName(name string) []string {
	if details := content.IsDNS1123Subdomain(name); len(details) > 0 || len(name) <= 52 {
		return details
	}
	return []string{"must be no more than 52 characters"}
}

// Metadata returns the errors of the metadata of an object of any kind.
func (w Write) Metadata() field.ErrorList {
	gk := w.Kind.GroupKind()
	check := nameRules[gk.String()]
	if check == nil {
		check = nameRules["."+gk.Group]
	}
	if check == nil {
		check = content.IsDNS1123Subdomain
	}
	named := func(name string, _ bool) []string { return check(name) }
	errs := apivalidation.ValidateObjectMetaAccessor(&unstructured.Unstructured{Object: w.After}, w.Namespaced, named, field.NewPath("metadata"))
	if w.Before == nil || len(errs) == 0 {
		return errs
	}
	return New(errs, apivalidation.ValidateObjectMetaAccessor(&unstructured.Unstructured{Object: w.Before}, w.Namespaced, named, field.NewPath("metadata")))
}
