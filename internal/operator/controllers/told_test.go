package controllers

import (
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestTheStatusOfATemplateControllerAlwaysFits(t *testing.T) {
	c := newCluster(t)
	c.Longest = map[string]int{"templatecontrollers": 300}
	c.KubectlApply(with(t, apps, "count: {{ len .children.maps }}", "count: {{ "+strings.Repeat("nosuchfunction", 30)+" }}"))
	c.Run()
	got := c.Condition("templatecontrollers", "apps", v1.ConditionAccepted)
	if !strings.HasPrefix(got, "False InvalidTemplate: status:1:11: unknown function") || len(got) > 300 {
		t.Errorf("condition %q", got)
	}
}
