package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestStatusTemplateConditions(t *testing.T) {
	const (
		ready = "True Ready: all children are ready: 2"
		fault = "False TemplateError: status: "
	)
	for why, row := range map[string]struct {
		conditions  string
		kind        string // condition type to check
		want, ready string
	}{
		"what is missing is filled in":                     {"[{type: Done, status: true}]", "Done", "True Done: ", ready},
		"a reason that is given":                           {"[{type: Done, status: 'False', reason: 'No_Disk,or:so', message: 'a b'}]", "Done", "False No_Disk,or:so: a b", ready},
		"a reason is made of a type with a prefix":         {"[{type: example.org/Done, status: Unknown}]", "example.org/Done", "Unknown Done: ", ready},
		"a reason is made of a type with other signs":      {"[{type: a.b/Is-it.done, status: Unknown}]", "a.b/Is-it.done", "Unknown Is_it_done: ", ready},
		"a reason begins with a letter":                    {"[{type: 2Done, status: Unknown}]", "2Done", "Unknown Condition2Done: ", ready},
		"a type that is short":                             {"[{type: X, status: Unknown}]", "X", "Unknown X: ", ready},
		"templater's own condition":                        {"[{type: Done, status: true}, {type: Ready, status: true}]", "Done", "no condition Done", fault + "conditions[1]: the Ready condition is written by templater: remove it here, or set spec.status.readyCondition to another type, or to \"\" for none"},
		"no type":                                          {"[{status: true}]", "", "", fault + "a condition has no type"},
		"a type that is no name":                           {"[{type: '" + secret + " x', status: true}]", "", "", fault + "conditions[0].type is not a valid condition type: use letters, digits, -, _ and ., optionally with a domain and / in front"},
		"a type that is too long":                          {"[{type: {{ repeat 317 \"a\" }}, status: true}]", "", "", fault + "conditions[0].type is longer than 316 characters"},
		"no status":                                        {"[{type: Done}]", "", "", fault + "a condition has no status: set True, False or Unknown"},
		"a status that is none":                            {"[{type: Done, status: 'true'}]", "", "", fault + "conditions[0].status must be True, False or Unknown"},
		"a reason that is no word":                         {"[{type: Done, status: true, reason: 'no " + secret + "'}]", "", "", fault + "conditions[0].reason is not valid: use a CamelCase word such as NoDisk (a letter first, then letters, digits, and _ , : in between), and put details into message"},
		"a reason that ends with a sign":                   {"[{type: Done, status: true, reason: 'no:'}]", "", "", fault + "conditions[0].reason is not valid: use a CamelCase word such as NoDisk (a letter first, then letters, digits, and _ , : in between), and put details into message"},
		"a reason that is no text":                         {"[{type: Done, status: true, reason: 5}]", "", "", fault + "conditions[0].reason is not valid: use a CamelCase word such as NoDisk (a letter first, then letters, digits, and _ , : in between), and put details into message"},
		"a reason that is too long":                        {"[{type: Done, status: true, reason: {{ repeat 1025 \"a\" }}}]", "", "", fault + "conditions[0].reason is longer than 1024 characters"},
		"a message that is no text":                        {"[{type: Done, status: true, message: [a]}]", "", "", fault + "conditions[0].message is not a string: quote it"},
		"conditions that are no list":                      {"{type: Done}", "", "", fault + "conditions is not a list"},
		"one that is not a mapping":                        {"[Done]", "", "", fault + "conditions has an item that is not a mapping"},
		"a condition without a reason for another's sake":  {"[{type: Done, status: true, reason: ''}]", "Done", "True Done: ", ready},
		"another condition of the second of two of a kind": {"[{type: A, status: true}, {type: B, status: maybe}]", "A", "no condition A", fault + "conditions[1].status must be True, False or Unknown"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, apps, "count: {{ len .children.maps }}", "conditions: "+row.conditions))
			c.KubectlApply(app)
			c.Run()
			if got := c.Condition("apps", "one", "Ready"); got != row.ready {
				t.Errorf("ready condition %q, want %q", got, row.ready)
			}
			if got := c.Condition("apps", "one", row.kind); row.kind != "" && got != row.want {
				t.Errorf("condition %q, want %q", got, row.want)
			}
			_, again := c.Reconcile("apps", "one")
			wantRequests(t, "another reconciliation", again)
		})
	}
}

func TestTemplateMaySetReadyConditionWhenDisabled(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "  status:\n", "  status:\n    readyCondition: \"\"\n", "count: {{ len .children.maps }}", "conditions: [{type: Ready, status: true, reason: Mine}]"))
	c.KubectlApply(app)
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "True Mine: "; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestConditionMessagesAreTruncated(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStatus(t, apps, "conditions: [{type: Done, status: true, message: {{ repeat 20000 \"äé\" }}}]"))
	c.KubectlApply(app)
	c.Run()
	_, _, message := cutCondition(c, "Done")
	if len(message) > 32768 || len(message) < 32760 || !utf8.ValidString(message) || !strings.HasSuffix(message, "é…") && !strings.HasSuffix(message, "ä…") {
		t.Errorf("the message has %d bytes and ends with %q", len(message), message[max(0, len(message)-9):])
	}
	wantRequests(t, "the same again", c.Run())
}

func TestConditionsHaveTransitionTimeAndGeneration(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStatus(t, apps, "conditions: [{type: Done, status: {{ eq .spec.text \"hello\" }}}, {type: Mine, status: true, lastTransitionTime: \"2020-02-02T02:02:02Z\", observedGeneration: 7}]"))
	c.KubectlApply(app)
	begin := c.Clock.Now()
	after := func(why string, wait time.Duration, text string, want map[string]string) {
		t.Helper()
		c.Clock.SetTime(begin.Add(wait))
		c.KubectlApply(with(t, app, "hello", text))
		c.Run()
		c.Deliver()
		got := map[string]string{}
		conditions, _, _ := unstructured.NestedSlice(c.Find("apps", "one").Object, "status", "conditions")
		for _, each := range conditions {
			m, _ := each.(map[string]any)
			got[fmt.Sprint(m["type"])] = fmt.Sprint(m["lastTransitionTime"], " ", m["observedGeneration"])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
	const mine = "2020-02-02T02:02:02Z 7"
	after("at first", 0, "hello", map[string]string{"Done": "2026-01-01T00:00:00Z 1", "Mine": mine, "Ready": "2026-01-01T00:00:00Z 1"})
	after("another status", time.Hour, "bye", map[string]string{"Done": "2026-01-01T01:00:00Z 2", "Mine": mine, "Ready": "2026-01-01T00:00:00Z 2"})
	after("the same status", 2*time.Hour, "bye bye", map[string]string{"Done": "2026-01-01T01:00:00Z 3", "Mine": mine, "Ready": "2026-01-01T00:00:00Z 3"})
}

// cutCondition returns status, reason and message of a condition of the parent.
func cutCondition(c *cluster, kind string) (status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(c.Find("apps", "one").Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == kind {
			status, _ = m["status"].(string)
			reason, _ = m["reason"].(string)
			message, _ = m["message"].(string)
			return status, reason, message
		}
	}
	return "", "", ""
}
