package problem

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rules are the messages of the API server about the rule that a value violates: constants of the validation of
// Kubernetes and of schemas, which follow the value at the end of a message. The rest of a message is dropped, because
// it quotes values. says is the template of the result.
var rules = []struct {
	sentence *regexp.Regexp
	says     string
}{
	{rule("`selector` does not match template `labels`"), "the selector does not match the labels of the template"},
	{rule(`(must (?:be no more than|have at most) \d+ (?:bytes|characters|items?))`), "$1"},
	{rule(`(may not be more than \d+ (?:bytes|characters))`), "$1"},
	{rule(`((?:must|should) be (?:greater|less) than(?: or equal to)? -?[0-9.]+)`), "$1"},
	{rule(`(must be between -?\d+ and -?\d+(?:, inclusive)?)`), "$1"},
	{rule(`(should (?:be|have) at (?:most|least) \d+ (?:chars long|items|properties))`), "$1"},
	{rule(`(should be a multiple of -?[0-9.]+)`), "$1"},
	{rule(`must be less than or equal to ([-a-z./]+ limit) of [0-9.a-zA-Z]+`), "must be less than or equal to the $1"},
	{rule(`(a lowercase RFC 1123 (?:label must consist of lower case alphanumeric characters or '-'|subdomain must consist of lower case alphanumeric characters, '-' or '\.'), and must start and end with an alphanumeric character)` + example), "$1"},
	{rule(`(a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character)` + example), "$1"},
	{rule(`(a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '\.', and must start and end with an alphanumeric character)` + example), "$1"},
	{rule(`((?:name|prefix) part (?:must consist of alphanumeric characters, '-', '_' or '\.', and must start and end with an alphanumeric character|must be non-empty))` + example), "$1"},
	{rule(`(a valid config key must consist of alphanumeric characters, '-', '_' or '\.')` + example), "$1"},
	{rule(`(a valid environment variable name must consist (?:of alphabetic characters, digits, '_', '-', or '\.', and must not start with a digit|only of printable ASCII characters other than '='))` + example), "$1"},
	{rule(`(must be a valid IP address)(?:, \(e\.g\. [0-9a-f.: or]*\))?`), "$1"},
	{rule(`(must validate (?:one and only one|at least one|all the) schemas? \((?:oneOf|anyOf|allOf)\))`), "$1"},
	{rule(`must be of type ([a-z]+): "[a-z]+"`), "expected $1"},
}

// example matches the examples that follow a message about names.
const example = `(?: \(e\.g\. [^"]* regex used for validation is '[^"]*'\))?`

func rule(sentence string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[:,] | in body )` + sentence + `$`)
}

// ruleOf returns the rule that a value violates, or "".
func ruleOf(cause metav1.StatusCause) string {
	if allowed := allowedValues(cause); allowed != "" {
		return allowed
	}
	for _, r := range rules {
		if m := r.sentence.FindStringSubmatchIndex(cause.Message); m != nil {
			return string(r.sentence.ExpandString(nil, r.says, cause.Message, m))
		}
	}
	return patternOf(cause.Message)
}

const (
	maxValues  = 10
	maxPattern = 200
)

var (
	valueLists = []string{": supported values: ", "Required value: valid values: "}
	valueList  = regexp.MustCompile(`^"[-A-Za-z0-9._/]{1,63}"(?:, "[-A-Za-z0-9._/]{1,63}")*$`)
)

// allowedValues returns the values that a field may have, or "". They come from a schema, and follow the actual value.
func allowedValues(cause metav1.StatusCause) string {
	if cause.Type != metav1.CauseTypeFieldValueNotSupported && cause.Type != metav1.CauseTypeFieldValueRequired {
		return ""
	}
	for _, before := range valueLists {
		at := strings.LastIndex(cause.Message, before)
		if at < 0 || !valueList.MatchString(cause.Message[at+len(before):]) {
			continue
		}
		values := strings.Split(strings.ReplaceAll(cause.Message[at+len(before):], `"`, ""), ", ")
		if len(values) > maxValues {
			return "supported values: " + strings.Join(values[:maxValues], ", ") + fmt.Sprintf(" and %d more", len(values)-maxValues)
		}
		return "supported values: " + strings.Join(values, ", ")
	}
	return ""
}

// patternOf returns the pattern of a schema that a value does not match, or "". It was written by the author of the
// CRD, and is at the end of the message.
func patternOf(message string) string {
	const before = " in body should match '"
	at := strings.LastIndex(message, before)
	if at < 0 || !strings.HasSuffix(message, "'") || len(message)-at-len(before) > maxPattern {
		return ""
	}
	return "should match " + message[at+len(before):len(message)-1]
}
