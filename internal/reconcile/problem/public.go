package problem

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/kube/request"
)

// PublicReason describes why a request failed. It only uses parts of the response that cannot contain a value of the
// object: the code, the reason, and the paths of fields. The message of the API server quotes values.
func PublicReason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "the API server did not respond"
	}
	if by := request.AdmissionRefusal(err); by != "" {
		return "denied by " + by
	}
	if causes := publicCauses(err); causes != "" {
		return causes
	}
	if faults := SchemaFaults(err); len(faults) > 0 {
		return Join(faults)
	}
	if fault := formFault(err.Error()); fault != "" {
		return fault
	}
	if m := silentWebhook.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf("calling admission webhook %q failed", m[1])
	}
	if request.Unserved(err) {
		return "the API server does not serve this kind at the moment"
	}
	if apierrors.IsForbidden(err) {
		return forbidden(err)
	}
	s := status.Status()
	if !reasonWord.MatchString(string(s.Reason)) { // none, or one that a webhook made up
		return fmt.Sprintf("the API server returned %d", s.Code)
	}
	return fmt.Sprintf("the API server returned %d %s", s.Code, s.Reason)
}

// forbidden describes why a write was forbidden, other than by RBAC. The names in it are those of cluster objects.
func forbidden(err error) string {
	text := err.Error()
	if m := quota.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("ResourceQuota %s is exceeded; raise it, or delete objects that are not needed", m[1])
	}
	if m := podSecurity.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the Pod Security level %s of the namespace forbids it; correct the Pod's securityContext and host settings in the template, or choose a less strict level with the label pod-security.kubernetes.io/enforce", m[1])
	}
	switch {
	case limitRange.MatchString(text):
		return "its resources violate a LimitRange of the namespace; kubectl describe limitrange shows the limits"
	case escalation.MatchString(text):
		return "writing a role requires all permissions that it grants" + escape(err) + "; grant them to templater, or to the service account that it impersonates"
	}
	return "denied by an admission plugin; run kubectl apply with the same object to see which one"
}

// escape returns the verb that allows a user to write a role, or a binding, without having its permissions, or "". The
// names are those of roles.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
func escape(err error) string {
	e, is := errors.AsType[*writeError](err)
	if !is {
		return ""
	}
	const verb = ", or the verb %s on %ss/%s"
	text := func(of any, key string) string {
		m, _ := of.(map[string]any)
		s, _ := m[key].(string)
		return s
	}
	switch kind := text(e.content, "kind"); kind {
	case "Role", "ClusterRole":
		return fmt.Sprintf(verb, "escalate", strings.ToLower(kind), PublicNameIn(rbacGroup, text(e.content["metadata"], "name")))
	case "RoleBinding", "ClusterRoleBinding":
		ref := e.content["roleRef"]
		if of := text(ref, "kind"); of == "Role" || of == "ClusterRole" {
			return fmt.Sprintf(verb, "bind", strings.ToLower(of), PublicNameIn(rbacGroup, text(ref, "name")))
		}
	}
	return ""
}

var (
	// Messages of the admission plugins ResourceQuota, PodSecurity and LimitRanger, of RBAC, and of failed webhooks.
	quota         = regexp.MustCompile(`exceeded quota: ([-a-z0-9.]{1,253}), requested: `)
	podSecurity   = regexp.MustCompile(`violates PodSecurity "([a-z]+):[-a-z0-9.]+"`)
	limitRange    = regexp.MustCompile(`(?:maximum|minimum) [-a-z0-9./]+ usage per [A-Z]|limit to request ratio per [A-Z]`)
	escalation    = regexp.MustCompile(`is attempting to grant RBAC permissions not currently held`)
	silentWebhook = regexp.MustCompile(`^Internal error occurred: failed calling webhook "([-a-z0-9.]{1,253})"`)
	// Server-side apply reports schema errors as text only.
	unknownField = regexp.MustCompile(`(\.[^\s:]+): field not declared in schema`)
	sameKey      = regexp.MustCompile(`(\.[^\s:]+): duplicate entries for key`)
	wrongType    = regexp.MustCompile(`(\.[^\s:]+): expected ([a-z]+)(?: \([a-z, ]+\))?, got`)
	strictField  = regexp.MustCompile(`unknown field "([^"\s]+)"`)
	// otherManager matches the message of server-side apply about a field that another manager owns.
	otherManager = regexp.MustCompile(`^conflict with "([^"]*)"`)
	// The message of an Invalid cause quotes the value, but its end does not. That of a Forbidden cause quotes none at its beginning. There is no
	// other sign that a field is immutable. CRDs define their own messages.
	immutableEnd   = regexp.MustCompile(`(?i)(?:\b(?:is|are) immutable(?: after creation| when .immutable. is set)?|may not change once set|cannot change roleRef)\.?$`)
	immutableStart = regexp.MustCompile(`^Forbidden: (?:updates to [^:"]{1,500} are forbidden|pod updates may not change fields other than |[a-z.]{1,50} is immutable)`)
	// statefulSet matches the fields of a StatefulSet that can be changed.
	statefulSet = regexp.MustCompile(`^Forbidden: updates to statefulset spec for fields other than ([a-zA-Z', ]{1,500}) are forbidden$`)
)

// Immutable reports whether the API server rejected an update only because fields cannot be changed.
func Immutable(err error) bool {
	causes := request.Details(err).Causes
	changeable := func(c metav1.StatusCause) bool { return c.Field == "" || !unchangeable(c) }
	return apierrors.IsInvalid(err) && request.AdmissionRefusal(err) == "" && len(causes) > 0 && !slices.ContainsFunc(causes, changeable)
}

// unchangeable reports whether a cause says that the field cannot be changed.
func unchangeable(cause metav1.StatusCause) bool {
	switch cause.Type { //nolint:exhaustive // other types do not say so
	case metav1.CauseTypeFieldValueInvalid:
		return immutableEnd.MatchString(cause.Message)
	case metav1.CauseTypeForbidden:
		return immutableStart.MatchString(cause.Message)
	}
	return false
}

// publicCauses lists the fields that the API server rejected, with the kind of error.
func publicCauses(err error) string {
	var out []string
	for _, cause := range request.Details(err).Causes {
		if cause.Field == "" {
			continue
		}
		out = append(out, pathOf(err, cause.Field)+": "+fault(cause, request.Details(err).Kind))
	}
	return Join(out)
}

// replaceHint matches the advice for a child with an immutable field.
var replaceHint = regexp.MustCompile(`; to replace the object[^;]{0,100}, set updateStrategy\.(?:onImmutable|type) to Recreate`)

// ReasonOfParent is PublicReason for an object that no template renders.
func ReasonOfParent(err error) string { return replaceHint.ReplaceAllString(PublicReason(err), "") }

// fault describes the error of a field of an object of that kind, with the violated rule if known.
func fault(cause metav1.StatusCause, kind string) string {
	replace := "; to replace the object" + lost[kind] + ", set updateStrategy.onImmutable to Recreate"
	if unchangeable(cause) {
		if m := statefulSet.FindStringSubmatch(cause.Message); m != nil {
			return "must not be changed, except for the fields " + m[1] + replace
		}
		return "field is immutable" + replace
	}
	if cause.Type == metav1.CauseTypeFieldManagerConflict {
		return "owned by " + manager(cause)
	}
	text, known := faultWords[cause.Type]
	if !known && !reasonWord.MatchString(string(cause.Type)) {
		return "not accepted"
	}
	if !known {
		return string(cause.Type)
	}
	if cause.Type == metav1.CauseTypeForbidden {
		return text + "; to replace the object" + lost[kind] + ", set updateStrategy.type to Recreate"
	}
	if rule := ruleOf(cause); rule != "" {
		return text + ": " + rule
	}
	return text
}

// lost describes what is lost if an object of a kind is replaced, for kinds that usually have state.
var lost = map[string]string{"PersistentVolumeClaim": ", whose data may then be lost", "StatefulSet": ", which deletes all its Pods first"}

// manager returns the field manager that an apply conflicts with.
func manager(cause metav1.StatusCause) string {
	if m := otherManager.FindStringSubmatch(cause.Message); m != nil {
		return "field manager " + PublicName(m[1])
	}
	return "another field manager"
}

// faultWords describe the cause types.
var faultWords = map[metav1.CauseType]string{
	metav1.CauseTypeFieldValueRequired:     "required value is missing",
	metav1.CauseTypeFieldValueInvalid:      "invalid value",
	metav1.CauseTypeFieldValueNotSupported: "value is not supported",
	metav1.CauseTypeFieldValueDuplicate:    "duplicate value",
	metav1.CauseTypeFieldValueNotFound:     "refers to something that does not exist",
	metav1.CauseTypeTooLong:                "too long",
	metav1.CauseTypeTooMany:                "too many items",
	metav1.CauseTypeTypeInvalid:            "wrong type",
	metav1.CauseTypeForbidden:              "must not be set or changed",
}

// SchemaFaults returns the fields that do not match the schema according to server-side apply, sorted.
func SchemaFaults(err error) []string {
	text := err.Error()
	var out []string
	for _, m := range unknownField.FindAllStringSubmatch(text, -1) {
		out = append(out, writtenPath(err, m[1])+": the schema has no such field")
	}
	for _, m := range strictField.FindAllStringSubmatch(text, -1) {
		out = append(out, writtenPath(err, m[1])+": the schema has no such field")
	}
	for _, m := range sameKey.FindAllStringSubmatch(text, -1) {
		out = append(out, writtenPath(err, m[1])+": two items of the list have the same key")
	}
	for _, m := range wrongType.FindAllStringSubmatch(text, -1) {
		out = append(out, writtenPath(err, m[1])+": wrong type, expected "+plainWord(m[2]))
	}
	slices.Sort(out) // the API server reports them in random order
	return slices.Compact(out)
}

// UnknownFields returns the paths of the fields that are not in the schema according to the response. They may contain
// keys that come from data.
func UnknownFields(err error) []string {
	if err == nil {
		return nil
	}
	var out []string
	for _, m := range unknownField.FindAllStringSubmatch(err.Error(), -1) {
		out = append(out, m[1])
	}
	for _, m := range strictField.FindAllStringSubmatch(err.Error(), -1) {
		out = append(out, "."+strings.TrimPrefix(m[1], "."))
	}
	return out
}

// SchemaMismatch reports whether the API server rejected the written object because it does not match the schema.
func SchemaMismatch(err error) bool {
	return len(SchemaFaults(err)) > 0 || formFault(err.Error()) != ""
}

// HTTP status codes of an API server that cannot respond now. That includes all codes above serverError.
const tooManyRequests, serverError = 429, 500

// Unanswered reports whether the API server was not reached, failed, is overloaded, or does not serve the resource, so
// that the response says nothing about the written object.
func Unanswered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	if SchemaMismatch(err) { // although the code is 500
		return false
	}
	return code >= serverError || code == tooManyRequests || code == 0 || request.Unserved(err)
}

// NameTaken reports whether a create request may have failed because an object with that name exists.
func NameTaken(err error) bool {
	return (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && request.AdmissionRefusal(err) == ""
}

// formFault describes a value that has the right type but cannot be parsed. The API server does not return the field.
func formFault(text string) string {
	switch {
	case !strings.Contains(text, "unable to convert unstructured object to "):
		return ""
	case strings.Contains(text, "quantities must match the regular expression"):
		return badQuantity
	case strings.Contains(text, "illegal base64 data"):
		return "data is not base64; put plain text under stringData, or use b64enc"
	}
	return "a value has the wrong format for its field"
}

// plainWord returns what users call a type of the API server's schema.
func plainWord(kind string) string {
	if kind == "numeric" {
		return "number"
	}
	return kind
}
