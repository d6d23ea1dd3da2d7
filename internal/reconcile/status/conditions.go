package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Conditions describes the conditions of a parent's status.
type Conditions struct {
	// Status is the current status. It must not be modified; nil means that there is none.
	Status     map[string]any
	Generation int64
	// Generations is true if a condition can have observedGeneration.
	Generations bool
	// Own is the type of templater's own condition; "" = none.
	Own   string
	Clock clock.PassiveClock
}

// SetOwn sets templater's own condition in a status.
func (p Conditions) SetOwn(status map[string]any, is, reason, message string) {
	conditions, _ := status["conditions"].([]any)
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == p.Own
	})
	condition := map[string]any{"type": p.Own, "status": is, "reason": reason, "message": problem.Line(message)}
	p.setDefaults(condition)
	status["conditions"] = append(conditions, condition)
}

// HasOthers reports whether there are conditions other than templater's own.
func (p Conditions) HasOthers() bool {
	conditions, _ := p.Status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] != p.Own
	})
}

// Fill sets defaults in the conditions that a status template renders. It returns an error message, or "".
func (p Conditions) Fill(status map[string]any) string {
	value, ok := status["conditions"]
	if !ok {
		return ""
	}
	conditions, ok := value.([]any)
	if !ok {
		return "conditions is not a list"
	}
	for i, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok {
			return "conditions has an item that is not a mapping"
		}
		if fault := p.fill(condition, fmt.Sprintf("conditions[%d]", i)); fault != "" {
			return fault
		}
	}
	return ""
}

// fill sets defaults in one condition. It returns an error message, or "".
func (p Conditions) fill(condition map[string]any, at string) string {
	kind := text(condition, "type")
	switch {
	case kind == "":
		return "a condition has no type"
	case len(kind) > longestType:
		return fmt.Sprintf("%s.type is longer than %d characters", at, longestType)
	case !conditionType.MatchString(kind):
		return at + ".type is not a valid condition type: use letters, digits, -, _ and ., optionally with a domain and / in front"
	case kind == p.Own:
		return at + ": the " + kind + " condition is written by templater: remove it here, or set spec.status.readyCondition to another type, or to \"\" for none"
	}
	switch s := condition["status"].(type) {
	case bool:
		condition["status"] = map[bool]string{true: "True", false: "False"}[s]
	case string:
		if s != "True" && s != "False" && s != "Unknown" {
			return at + ".status must be True, False or Unknown"
		}
	default:
		return "a condition has no status: set True, False or Unknown"
	}
	if fault := fillWords(condition, at); fault != "" {
		return fault
	}
	p.setDefaults(condition)
	return ""
}

// fillWords sets defaults for reason and message of a condition. It returns an error message, or "".
func fillWords(condition map[string]any, at string) string {
	if condition["reason"] == nil || condition["reason"] == "" {
		condition["reason"] = reasonOf(text(condition, "type"))
	}
	if condition["message"] == nil {
		condition["message"] = ""
	}
	message, ok := condition["message"].(string)
	switch reason := text(condition, "reason"); {
	case len(reason) > longestReason:
		return fmt.Sprintf("%s.reason is longer than %d characters", at, longestReason)
	case !conditionReason.MatchString(reason):
		return at + ".reason is not valid: use a CamelCase word such as NoDisk (a letter first, then letters, digits, and _ , : in between), and put details into message"
	case !ok:
		return at + ".message is not a string: quote it"
	}
	condition["message"] = bounded(message)
	return ""
}

// Limits of conditions, as in metav1.Condition, which most schemas follow.
const (
	longestType   = 316
	longestReason = 1024
)

var (
	conditionType   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	notInReason     = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// reasonOf derives a reason from the condition type, without the domain, for a condition that has none.
func reasonOf(kind string) string {
	reason := notInReason.ReplaceAllString(kind[strings.LastIndex(kind, "/")+1:], "_")
	if !conditionReason.MatchString(reason) {
		return "Condition" + reason
	}
	return reason
}

// bounded truncates the message of a status template's condition to the maximum length.
func bounded(message string) string { return object.Cut(message, problem.MaxMessageLength) }

// setDefaults sets lastTransitionTime and, if the schema has it, observedGeneration.
func (p Conditions) setDefaults(condition map[string]any) {
	if condition["lastTransitionTime"] == nil {
		condition["lastTransitionTime"] = p.transition(condition)
	}
	if p.Generations && condition["observedGeneration"] == nil {
		condition["observedGeneration"] = p.Generation
	}
}

// transition returns since when the parent has had the condition in that status.
func (p Conditions) transition(condition map[string]any) string {
	conditions, _ := p.Status["conditions"].([]any)
	for _, c := range conditions {
		there, _ := c.(map[string]any)
		if there["type"] == condition["type"] && there["status"] == condition["status"] {
			if since, ok := there["lastTransitionTime"].(string); ok {
				return since
			}
		}
	}
	return p.Clock.Now().UTC().Format(time.RFC3339)
}

// text returns the string value of a key, or "".
func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
