package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

// stepsOf parses steps as YAML does: text with a letter or % is a string.
func stepsOf(text string) []intstr.IntOrString {
	var out []intstr.IntOrString
	for _, step := range strings.Fields(text) {
		out = append(out, intstr.Parse(step))
	}
	return out
}

func TestInvalidSpecRolloutIsRejected(t *testing.T) {
	const (
		form = "must be a number of parents, such as 5, or a percentage from 0% to 100%, such as 25%"
		unit = "must be a duration such as 90s or 1h30m, with the units h, m, s and ms, or 0s "
		id   = "TL069 spec.rollout.approvedRevision: must be the 16 hexadecimal digits that templater diff prints, as in status.updateRevision"
	)
	for why, row := range map[string]struct {
		rollout v1.Rollout
		want    []string
	}{
		"no fields":                            {v1.Rollout{}, nil},
		"all fields":                           {v1.Rollout{Steps: stepsOf("1 10% 50% 100%"), Interval: "5m", ReadyTimeout: "0s", MaxFailed: 1, ApprovedRevision: "0123456789abcdef", CanarySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}, nil},
		"equal steps":                          {v1.Rollout{Steps: stepsOf("0 0 5 5 0% 0% 100% 100%")}, nil},
		"numbers after percentages":            {v1.Rollout{Steps: stepsOf("50% 1")}, nil},
		"descending numbers":                   {v1.Rollout{Steps: stepsOf("5 50% 4")}, []string{"TL069 spec.rollout.steps[2]: 4 is less than 5 in an earlier step: steps are cumulative, so list them in ascending order"}},
		"descending percentages":               {v1.Rollout{Steps: stepsOf("50% 5 25% 30%")}, []string{"TL069 spec.rollout.steps[2]: 25% is less than 50% in an earlier step: steps are cumulative, so list them in ascending order", "TL069 spec.rollout.steps[3]: 30% is less than 50% in an earlier step: steps are cumulative, so list them in ascending order"}},
		"a negative number":                    {v1.Rollout{Steps: stepsOf("-1")}, []string{"TL069 spec.rollout.steps[0]: " + form}},
		"more than all":                        {v1.Rollout{Steps: stepsOf("101%")}, []string{"TL069 spec.rollout.steps[0]: " + form}},
		"a negative percentage":                {v1.Rollout{Steps: stepsOf("-5%")}, []string{"TL069 spec.rollout.steps[0]: " + form}},
		"leading zeros":                        {v1.Rollout{Steps: stepsOf("05%")}, []string{"TL069 spec.rollout.steps[0]: " + form}},
		"text":                                 {v1.Rollout{Steps: stepsOf("few 1 %")}, []string{"TL069 spec.rollout.steps[0]: " + form, "TL069 spec.rollout.steps[2]: " + form}},
		"a number as text":                     {v1.Rollout{Steps: []intstr.IntOrString{intstr.FromString("5")}}, []string{"TL069 spec.rollout.steps[0]: " + form}},
		"20 steps":                             {v1.Rollout{Steps: stepsOf(strings.Repeat("1 ", 20))}, nil},
		"21 steps":                             {v1.Rollout{Steps: stepsOf(strings.Repeat("1 ", 21))}, []string{"TL069 spec.rollout.steps: the list has 21 steps; the limit is 20: remove some"}},
		"an interval without a unit":           {v1.Rollout{Interval: "5"}, []string{"TL021 spec.rollout.interval: " + unit + "for no wait"}},
		"an interval of less than a second":    {v1.Rollout{Interval: "1ms"}, []string{"TL021 spec.rollout.interval: must be at least 1s, or 0s for no wait"}},
		"a readyTimeout in days":               {v1.Rollout{ReadyTimeout: "1d"}, []string{"TL021 spec.rollout.readyTimeout: " + unit + "for no limit"}},
		"a readyTimeout of less than a second": {v1.Rollout{ReadyTimeout: "999ms"}, []string{"TL021 spec.rollout.readyTimeout: must be at least 1s, or 0s for no limit"}},
		"negative maxFailed":                   {v1.Rollout{MaxFailed: -1}, []string{"TL069 spec.rollout.maxFailed: must be 0 or a greater number"}},
		"a selector with an invalid value":     {v1.Rollout{CanarySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b c"}}}, []string{"TL022 spec.rollout.canarySelector.matchLabels: not valid: use valid label keys and values; operators are In, NotIn, Exists and DoesNotExist, the last two without values"}},
		"a revision with 15 digits":            {v1.Rollout{ApprovedRevision: "0123456789abcde"}, []string{id}},
		"a revision with 17 digits":            {v1.Rollout{ApprovedRevision: "0123456789abcdef0"}, []string{id}},
		"a revision in upper case":             {v1.Rollout{ApprovedRevision: "0123456789ABCDEF"}, []string{id}},
		"the number of a revision":             {v1.Rollout{ApprovedRevision: "3"}, []string{id}},
	} {
		t.Run(why, func(t *testing.T) {
			s := specWith("{}", "x")
			s.Rollout = &row.rollout
			if diff := cmp.Diff(row.want, rejections(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRevisionHistoryLimitIsChecked(t *testing.T) {
	want := []string{"TL069 spec.revisionHistoryLimit: must be a number from 2 to 100"}
	for limit, want := range map[int32][]string{0: nil, 2: nil, 100: nil, 1: want, 101: want, -1: want} {
		s := specWith("{}", "x")
		s.RevisionHistoryLimit = limit
		if diff := cmp.Diff(want, rejections(s)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", limit, diff)
		}
	}
}

// rejections returns the code, place and message of all errors in a spec.
func rejections(s *v1.TemplateControllerSpec) []string {
	_, r := Compile("tc", s)
	if r == nil {
		return nil
	}
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Code)+" "+f.String())
	}
	return out
}
