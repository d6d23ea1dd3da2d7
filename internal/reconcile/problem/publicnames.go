package problem

import (
	"regexp"

	v1 "github.com/templater-dev/templater/api/v1"
)

var (
	// What an owner reference should contain. The API server does not check that.
	plainKind    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
	plainVersion = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]{0,252}/)?[a-z0-9]{1,63}$`)
	plainName    = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._:]{0,252}$`)
	segmentName  = regexp.MustCompile(`^[!-$&-.0-~]{1,253}$`) // printable ASCII without spaces, slashes and percent signs
)

const rbacGroup = "rbac.authorization.k8s.io"

// segmentGroups are the API groups whose objects can have any name that is a path segment, such as a user name:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names
var segmentGroups = map[string]bool{rbacGroup: true, "authorization.openshift.io": true, "user.openshift.io": true}

// PublicNameIn returns the name of an object in an API group, or "…" if it is not a valid name there.
func PublicNameIn(group, name string) string {
	if segmentGroups[group] && name != "." && name != ".." {
		return plainly(name, segmentName)
	}
	return PublicName(name)
}

// PublicName returns the name of an object of most kinds. An invalid name is replaced by "…", because it may be any
// text.
func PublicName(name string) string { return plainly(name, plainName) }

// PublicController describes the TemplateController with a key (see v1.Key), whose name may be any text.
func PublicController(key string) string {
	namespace, name := v1.SplitKey(key)
	return v1.Describe(v1.Key(namespace, PublicName(name)))
}

// PublicKind is PublicName for the kind in an owner reference, which can be any text.
func PublicKind(kind string) string { return plainly(kind, plainKind) }

// PublicVersion is PublicName for the API version in an owner reference.
func PublicVersion(apiVersion string) string { return plainly(apiVersion, plainVersion) }

// plainly returns text if it matches, or else "…".
func plainly(text string, looks *regexp.Regexp) string {
	if !looks.MatchString(text) {
		return "…"
	}
	return text
}

// reasonWord matches condition reasons that follow the convention. Anything else could be a value.
var reasonWord = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{1,63}$`)

// WithReason appends a condition reason to text, if it is valid.
func WithReason(text, reason string) string {
	if !reasonWord.MatchString(reason) {
		return text
	}
	return text + " (" + reason + ")"
}
