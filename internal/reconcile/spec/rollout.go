package spec

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

const (
	leastRevisions = 2
	mostRevisions  = 100
)

// revisionID is the format of spec.rollout.approvedRevision: see revision.ID.
var revisionID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// checkRollout returns errors in spec.rollout and spec.revisionHistoryLimit, or nil. A revisionHistoryLimit of 0 is the default.
func checkRollout(spec *v1.TemplateControllerSpec) *Rejection {
	var history *Rejection
	if n := spec.RevisionHistoryLimit; n != 0 && (n < leastRevisions || n > mostRevisions) {
		history = wrong(finding.Rollout, "spec.revisionHistoryLimit", "must be a number from %d to %d", leastRevisions, mostRevisions)
	}
	r := spec.Rollout
	if r == nil {
		return history
	}
	_, canaries := selectorOf("spec.rollout.canarySelector", r.CanarySelector)
	var failed, approved *Rejection
	if r.MaxFailed < 0 {
		failed = wrong(finding.Rollout, "spec.rollout.maxFailed", "must be 0 or a greater number")
	}
	if r.ApprovedRevision != "" && !revisionID.MatchString(r.ApprovedRevision) {
		approved = wrong(finding.Rollout, "spec.rollout.approvedRevision", "must be the 16 hexadecimal digits that templater diff prints, as in status.updateRevision")
	}
	return joined(history, canaries, checkSteps(r.Steps), checkDuration("spec.rollout.interval", r.Interval, "for no wait"), checkDuration("spec.rollout.readyTimeout", r.ReadyTimeout, "for no limit"), failed, approved)
}

// checkDuration returns an error in an optional duration, or nil. zero is the meaning of 0s.
func checkDuration(where, text, zero string) *Rejection {
	if text == "" {
		return nil
	}
	if _, fault := parseDuration(text); fault != "" {
		return wrong(finding.Duration, where, "%s0s %s", fault, zero)
	}
	return nil
}

// checkSteps returns errors in the steps of a rollout, or nil. Numbers are compared with numbers, and percentages with percentages: how many
// parents there are is not known.
func checkSteps(steps []intstr.IntOrString) *Rejection {
	const where = "spec.rollout.steps"
	if len(steps) > mostSteps {
		return wrong(finding.Rollout, where, "the list has %d steps; the limit is %d: remove some", len(steps), mostSteps)
	}
	var all faults
	before := map[bool]int{false: -1, true: -1} // the last number, and the last percentage
	for i, step := range steps {
		at := where + "[" + strconv.Itoa(i) + "]"
		n, percent, ok := readStep(step)
		switch {
		case !ok:
			all.add(wrong(finding.Rollout, at, "must be a number of parents, such as 5, or a percentage from 0%% to 100%%, such as 25%%"))
			continue
		case n < before[percent]:
			all.add(wrong(finding.Rollout, at, "%s is less than %s in an earlier step: steps are cumulative, so list them in ascending order", step.String(), stepOf(before[percent], percent)))
		}
		before[percent] = max(n, before[percent])
	}
	return all.joined()
}

// mostSteps is the maximum number of steps of a rollout.
const mostSteps = 20

// readStep parses a step. ok is false if it is neither a number of parents nor a valid percentage.
func readStep(step intstr.IntOrString) (n int, percent, ok bool) {
	if step.Type == intstr.Int {
		return int(step.IntVal), false, step.IntVal >= 0
	}
	text, percent := strings.CutSuffix(step.StrVal, "%")
	n, err := strconv.Atoi(text)
	return n, true, percent && err == nil && n >= 0 && n <= 100 && strconv.Itoa(n) == text
}

func stepOf(n int, percent bool) string {
	if percent {
		return strconv.Itoa(n) + "%"
	}
	return strconv.Itoa(n)
}
