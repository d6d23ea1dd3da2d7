package reconcile_test

import (
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestTextsArriveAsTheyAre(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "count:", "text: {{ .spec.text }}\n      count:"))
	o := parse(t, app)
	o.Object["spec"].(map[string]any)["text"] = reconciletest.OddText
	o.SetUID("uid-one")
	c.Store(locationOf(o), o)
	c.Deliver()
	c.Run()
	for what, in := range map[string]map[string]any{
		"the child":           c.Find("configmaps", "a").Object["data"].(map[string]any),
		"the parent's status": c.Find("apps", "one").Object["status"].(map[string]any),
	} {
		t.Run(what, func(t *testing.T) {
			if in["text"] != reconciletest.OddText {
				t.Errorf("%s has %q, want %q", what, in["text"], reconciletest.OddText)
			}
		})
	}
	c.Deliver()
	_, again := c.Pass("apps", "one")
	wantRequests(t, "the pass after", again)
}

func TestAKeyThatTheServerCannotReadIsToldByItsPlace(t *testing.T) {
	for why, row := range map[string]struct{ from, to, want string }{
		"in a child": {
			"data: {text: {{ $.spec.text }}}", "spec: {list: [{map: {{ dict (repeat 1100 \"k\") \"x\" | toJson }}}]}",
			"False InvalidChild: children[maps]:3: spec.list[0].map has a key of more than 1022 characters in JSON, which the API server cannot decode: shorten it",
		},
		"in the status": {
			"count: {{ len .children.maps }}", "map: {{ dict (repeat 1100 \"k\") \"x\" | toJson }}",
			"False TemplateError: status: status.map has a key of more than 1022 characters in JSON, which the API server cannot decode: shorten it",
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, apps, row.from, row.to))
			c.KubectlApply(app)
			c.Run()
			if got := c.Condition("apps", "one", "Ready"); got != row.want {
				t.Errorf("condition %q, want %q", got, row.want)
			}
		})
	}
}
