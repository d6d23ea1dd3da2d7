package reconcile_test

import (
	"testing"
)

// odd has characters that YAML takes for something else, or does not take, where they stand unescaped.
const odd = "a\u0085b: c\u2028\u2029 d \x7f\u0080\ufffe\ufeff\r\n\x00 \U0001f600\U0001ffff"

func TestTextsArriveAsTheyAre(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "count:", "text: {{ .spec.text }}\n      count:"))
	o := parse(t, app)
	o.Object["spec"].(map[string]any)["text"] = odd
	o.SetUID("uid-one")
	c.Store(locationOf(o), o)
	c.deliver()
	c.run()
	for what, in := range map[string]map[string]any{
		"the child":           c.get("configmaps", "a").Object["data"].(map[string]any),
		"the parent's status": c.get("apps", "one").Object["status"].(map[string]any),
	} {
		t.Run(what, func(t *testing.T) {
			if in["text"] != odd {
				t.Errorf("%s has %q, want %q", what, in["text"], odd)
			}
		})
	}
	c.deliver()
	_, again := c.pass("apps", "one")
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
			c.apply(with(t, apps, row.from, row.to))
			c.apply(app)
			c.run()
			if got := c.condition("apps", "one", "Ready"); got != row.want {
				t.Errorf("condition %q, want %q", got, row.want)
			}
		})
	}
}
