package problem

import "regexp"

var (
	// These are what an owner reference should hold, which the server does not check.
	plainKind    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
	plainVersion = regexp.MustCompile(`^([a-z0-9][-a-z0-9.]{0,252}/)?[a-z0-9]{1,63}$`)
	plainName    = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._:]{0,252}$`)
	segmentName  = regexp.MustCompile(`^[!-$&-.0-~]{1,253}$`) // printable ASCII without spaces, slashes and percent signs
)

const rbacGroup = "rbac.authorization.k8s.io"

// segmentGroups are the groups whose objects may have any name that is one segment of a path, such as that of a user:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names
var segmentGroups = map[string]bool{rbacGroup: true, "authorization.openshift.io": true, "user.openshift.io": true}

// PublicNameIn returns the name of an object of a kind of that group. One that the kind does not allow is left out.
func PublicNameIn(group, name string) string {
	if segmentGroups[group] && name != "." && name != ".." {
		return plainly(name, segmentName)
	}
	return PublicName(name)
}

// PublicName returns the name of an object of most kinds. One that no object of these can have is left out:
// it may be any text.
func PublicName(name string) string { return plainly(name, plainName) }

// PublicKind does so for the kind of an owner: anyone who writes the reference may write any text there.
func PublicKind(kind string) string { return plainly(kind, plainKind) }

// PublicVersion does so for the API version of an owner.
func PublicVersion(apiVersion string) string { return plainly(apiVersion, plainVersion) }

// plainly returns a text as it is where it looks as such texts do.
func plainly(text string, looks *regexp.Regexp) string {
	if !looks.MatchString(text) {
		return "…"
	}
	return text
}

// reasonWord is what the reason of a condition looks like by convention. Anything else could be a value.
var reasonWord = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{1,63}$`)

// WithReason puts the reason of a condition behind a text, if it is one.
func WithReason(text, reason string) string {
	if !reasonWord.MatchString(reason) {
		return text
	}
	return text + " (" + reason + ")"
}
