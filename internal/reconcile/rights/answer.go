package rights

import (
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// The names in these texts of the server are those of users, resources and namespaces.
var (
	// What authorization answers, and what the admission plugin OwnerReferencesPermissionEnforcement does.
	authorization = regexp.MustCompile(`: User "[^"]*" cannot [-a-z:]+ resource "|cannot set blockOwnerDeletion`)
	finalizers    = regexp.MustCompile(`cannot set blockOwnerDeletion`)
	deniedVerb    = regexp.MustCompile(`: User "[^"]*" cannot ([-a-z:]+) resource "`)
	deniedAccount = regexp.MustCompile(`: User "(` + spec.AccountPrefix + `[-.a-z0-9]+:[-.a-z0-9]+)" cannot `)
)

// Denied reports whether it is for a missing right that the server forbids. Admission rules, such
// as a quota, answer with the same code and reason, so there is only the text to tell by.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) && authorization.MatchString(err.Error()) && request.AdmissionRefusal(err) == ""
}

// operator names the account that templater itself has, where the server tells it in its answer to a request of that.
func operator(err error) string {
	if m := deniedAccount.FindStringSubmatch(err.Error()); m != nil {
		return Who(m[1])
	}
	return Who("")
}
