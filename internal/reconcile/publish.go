package reconcile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
)

// refusal tells what the server's answer to the write of an object means. what names the
// write: "create ConfigMap default/a".
func (c *controller) refusal(err error, what string, at kube.Location, kind kind.Kind) *Problem {
	p := &Problem{Reason: v1.ReasonChildRejected, Retry: RetryBackoff, Write: what}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Reason, p.Retry = v1.ReasonNamespaceEnding, RetrySlow
		p.Message = "cannot " + what + ": its namespace is being deleted; change metadata.namespace in the template, or create the namespace anew once it is gone"
	case lacksRight(err):
		p.Reason, p.Retry = v1.ReasonChildForbidden, RetrySoon
		text, pending := c.missingRight(err, at, kind)
		p.Message, p.Pending = "cannot "+what+": "+text, pending
	case kube.MissingNamespace(err):
		p.Reason, p.Retry = v1.ReasonNamespaceNotFound, RetrySlow
		p.Message = "cannot " + what + ": its namespace does not exist; create the namespace, or change metadata.namespace in the template"
	default:
		if answerOf(err) == NoAnswer {
			p.Reason = v1.ReasonChildRequestFailed
		}
		p.Message, p.Faults = "cannot "+what+": "+publicReason(err), schemaFaults(err)
	}
	return p
}

// publicReason says why the server refused, from those parts of its answer that cannot
// hold a value of the object: the code, the reason, and the paths of fields.
// The server's own text quotes values.
func publicReason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "the API server did not answer"
	}
	if by := admission.FindStringSubmatch(err.Error()); by != nil {
		return "denied by " + by[1]
	}
	if causes := publicCauses(err); causes != "" {
		return causes
	}
	if faults := schemaFaults(err); len(faults) > 0 {
		return list(faults)
	}
	if fault := formFault(err.Error()); fault != "" {
		return fault
	}
	if m := silentWebhook.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Sprintf("admission webhook %q does not answer as it should", m[1])
	}
	if apierrors.IsForbidden(err) {
		return forbidden(err.Error())
	}
	s := status.Status()
	if !reasonWord.MatchString(string(s.Reason)) { // none, or one that a webhook made up
		return fmt.Sprintf("the API server answers %d", s.Code)
	}
	return fmt.Sprintf("the API server answers %d %s", s.Code, s.Reason)
}

// forbidden says which rule of the cluster forbids a write. The names in it are those of cluster
// objects.
func forbidden(text string) string {
	if m := quota.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("ResourceQuota %s is used up; raise it, or delete what is not needed", m[1])
	}
	if m := podSecurity.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the Pod Security level %s of the namespace refuses it; correct the Pod's securityContext and host settings in the template, or raise the level by the label pod-security.kubernetes.io/enforce", m[1])
	}
	switch {
	case limitRange.MatchString(text):
		return "a LimitRange of the namespace refuses its resources; keep to what kubectl describe limitrange shows"
	case escalation.MatchString(text):
		return "whoever writes a role needs the rights in it; grant them to templater, or to the account that it works as, too"
	}
	return "an admission rule of the API server forbids it; kubectl apply of such an object says which"
}

var (
	// What other admission plugins answer: ResourceQuota, PodSecurity, LimitRanger; the last is that of RBAC.
	quota         = regexp.MustCompile(`exceeded quota: ([-a-z0-9.]{1,253}), requested: `)
	podSecurity   = regexp.MustCompile(`violates PodSecurity "([a-z]+):[-a-z0-9.]+"`)
	limitRange    = regexp.MustCompile(`(?:maximum|minimum) [-a-z0-9./]+ usage per [A-Z]|limit to request ratio per [A-Z]`)
	escalation    = regexp.MustCompile(`is attempting to grant RBAC permissions not currently held`)
	silentWebhook = regexp.MustCompile(`^Internal error occurred: failed calling webhook "([-a-z0-9.]{1,253})"`)
	// admission finds who denied a request; the names are those of cluster objects. They stand at the beginning: further
	// on, a value may have the same words.
	admission = regexp.MustCompile(`^(?:[^ "]+ (?:"(?:[^"\\]|\\.)*" )?is forbidden: )?(admission webhook "[-a-z0-9.]{1,253}"|ValidatingAdmissionPolicy '[-a-z0-9.]{1,253}') `)
	// Server-side apply reports what does not fit the schema as text only.
	unknownField = regexp.MustCompile(`(\.[^\s:]+): field not declared in schema`)
	sameKey      = regexp.MustCompile(`(\.[^\s:]+): duplicate entries for key`)
	wrongType    = regexp.MustCompile(`(\.[^\s:]+): expected ([a-z]+)(?: \([a-z, ]+\))?, got`)
	strictField  = regexp.MustCompile(`unknown field "([^"\s]+)"`)
	// The key of a list item in a path is a value: [name="x"].
	listKey   = regexp.MustCompile(`\[[^\]]*\]?`)
	plainPath = regexp.MustCompile(`^[-A-Za-z0-9_./…\[\]]+$`)
	// These are what an owner reference should hold, which the server does not check.
	plainKind    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
	plainVersion = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]{0,252}/)?[a-z0-9]{1,63}$`)
	plainName    = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._:]{0,252}$`)
	// The text of an Invalid cause quotes the value; its tail does not.
	immutable = regexp.MustCompile(`field is immutable|may not change once set`)
)

// publicCauses lists the fields that the server found wrong, with the kind of
// fault.
func publicCauses(err error) string {
	var out []string
	for _, cause := range kube.AnswerDetails(err).Causes {
		if cause.Field == "" {
			continue
		}
		out = append(out, pathOf(err, cause.Field)+": "+fault(cause))
	}
	return list(out)
}

// fault says what is wrong with a field, with the rule where it is known.
func fault(cause metav1.StatusCause) string {
	const replace = "; to replace the object, set updateStrategy.type to Recreate"
	if immutable.MatchString(cause.Message) {
		return "field is immutable" + replace
	}
	text, known := faultWords[cause.Type]
	if !known && !reasonWord.MatchString(string(cause.Type)) {
		return "not accepted"
	}
	if !known {
		return string(cause.Type)
	}
	if cause.Type == metav1.CauseTypeForbidden {
		return text + replace
	}
	if rule := ruleOf(cause); rule != "" {
		return text + ": " + rule
	}
	return text
}

// faultWords are what the sorts of faults are called.
var faultWords = map[metav1.CauseType]string{
	metav1.CauseTypeFieldValueRequired:     "required value is missing",
	metav1.CauseTypeFieldValueInvalid:      "invalid value",
	metav1.CauseTypeFieldValueNotSupported: "value is not supported",
	metav1.CauseTypeFieldValueDuplicate:    "value is there twice",
	metav1.CauseTypeFieldValueNotFound:     "names something that is not there",
	metav1.CauseTypeTooLong:                "too long",
	metav1.CauseTypeTooMany:                "too many items",
	metav1.CauseTypeTypeInvalid:            "wrong type",
	metav1.CauseTypeForbidden:              "may not be set or changed",
}

// schemaFaults lists the fields that server-side apply finds not to fit the schema.
func schemaFaults(err error) []string {
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
	slices.Sort(out) // the server's order is random
	return slices.Compact(out)
}

// longestPath is how long a path may be that is told. The deepest of Kubernetes' own kinds are half as long.
const longestPath = 512

// publicPath returns the path with the keys of list items left out. A path that
// still does not look like one may be a piece of a value, and is left out.
func publicPath(path string) string {
	path = listKey.ReplaceAllStringFunc(path, func(key string) string {
		if strings.Trim(key, "[]0123456789") == "" {
			return key
		}
		return "[…]"
	})
	if !plainPath.MatchString(path) || len(path) > longestPath {
		return aField
	}
	return path
}

// formFault says what is wrong with a value that has the right type and cannot be
// read all the same. The server does not name the field.
func formFault(text string) string {
	switch {
	case !strings.Contains(text, "unable to convert unstructured object to "):
		return ""
	case strings.Contains(text, "quantities must match the regular expression"):
		return badQuantity
	case strings.Contains(text, "illegal base64 data"):
		return "data is not base64; put plain text under stringData, or use b64enc"
	}
	return "a value has the wrong form for its field"
}

// plainWord is what users call a type of the server's schema.
func plainWord(kind string) string {
	if kind == "numeric" {
		return "number"
	}
	return kind
}

// publicName returns the name of an object. One that no object can have is left out:
// it may be any text.
func publicName(name string) string { return plainly(name, plainName) }

// publicKind and publicVersion do so for the kind and the version of an owner: whoever writes the reference writes there what
// they want.
func publicKind(kind string) string { return plainly(kind, plainKind) }

func publicVersion(apiVersion string) string { return plainly(apiVersion, plainVersion) }

// plainly returns a text as it is where it looks as such texts do.
func plainly(text string, looks *regexp.Regexp) string {
	if !looks.MatchString(text) {
		return "…"
	}
	return text
}

// mostListed is how many of the same sort a message names.
const mostListed = 3

// list joins the first of them, and says how many more there are.
func list(parts []string) string {
	return listOf(parts, func(part string) string { return part })
}

// listOf is list for things that are yet to be put into words.
func listOf[T any](all []T, say func(T) string) string {
	var out strings.Builder
	for i, each := range all {
		if i == mostListed {
			fmt.Fprintf(&out, "; and %d more", len(all)-mostListed)
			break
		}
		if i > 0 {
			out.WriteString("; ")
		}
		out.WriteString(say(each))
	}
	return out.String()
}
