package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// failing is a spec that fails for every parent labeled with the scope's name.
const failing = `
watch: {apiVersion: "@apiVersion", kind: "@kind", labelSelector: {matchLabels: {e2e: "@id"}}}
children:
- name: none
  template: |
    {{ fail "@text" }}
`

// TestEventsAppearInKubectlDescribe has parents of kinds whose status is owned by others: Events are all that their
// users see.
func TestEventsAppearInKubectlDescribe(t *testing.T) {
	parallel(t)
	startOperator(t)
	for what, row := range map[string]struct {
		apiVersion, kind, parent string
		look                     []string
	}{
		"a built-in kind": {
			"v1", "ConfigMap", `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {e2e: "@id"}}}`,
			[]string{"describe", "configmap", "one"},
		},
		"a cluster-scoped kind": {
			"@group/v1", "Fleet", `{apiVersion: "@group/v1", kind: Fleet, metadata: {name: "@id", labels: {e2e: "@id"}}}`,
			[]string{"describe", "fleets.@group", "@id"},
		},
		"a Namespace, which kubectl describes without Events": {
			"v1", "Namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: "@ns", labels: {e2e: "@id", team: red}}}`,
			[]string{"events", "--for", "namespace/@ns"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScope(t)
			s.define("Fleet", "Cluster")
			s.apply(row.parent)
			spec := strings.NewReplacer("@apiVersion", row.apiVersion, "@kind", row.kind).Replace(failing)
			var texts []string
			for _, text := range []string{"the first text", "another text", "the first text"} {
				texts = append(texts, text)
				s.controller(strings.Replace(spec, "@text", text, 1))
				eventually(t, soon, func() error {
					out := s.kubectl(strings.Fields(s.expand(strings.Join(row.look, " ")))...)
					for _, text := range texts {
						if !strings.Contains(out, text) {
							return fmt.Errorf("kubectl %s does not show %q:\n%s", strings.Join(row.look, " "), text, out)
						}
					}
					if len(texts) == 3 && !strings.Contains(out, "(x2 over") {
						return fmt.Errorf("the first text is not counted up:\n%s", out)
					}
					return nil
				})
			}
		})
	}
}

// TestEventsRequireServiceAccountPermission has an author who tries to write text into a namespace where neither the
// author nor the service account of the TemplateController may write Events.
func TestEventsRequireServiceAccountPermission(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	user := s.account("robot", thingRules+configMapRules)
	op := startOperator(t)
	before := mark(t)
	s.applyController("@id", asAccount("robot", `
children:
- name: none
  template: |
    {{ fail "pay here" }}
`))
	s.thing("one", "{}")
	s.thing("two", "{}")
	tc := s.waitController("@id", func(o *unstructured.Unstructured) error {
		if err := condition(o, "EventsWritable", "False", "Forbidden"); err != nil {
			return err
		}
		if text := message(o, "EventsWritable"); !ruleInMessage.MatchString(text) {
			return fmt.Errorf("the message gives no rule: %s", text)
		}
		return ready(o)
	})
	text := message(tc, "EventsWritable")
	t.Log(text)
	if got := s.kubectl("get", "events"); strings.Contains(got, "pay here") {
		t.Errorf("an Event was written:\n%s", got)
	}
	s.heed(user, text, map[string][]string{"it": {thingRules + configMapRules}})
	eventually(t, soon, func() error {
		got := s.kubectl("get", "events")
		if !strings.Contains(got, "thing/one") || !strings.Contains(got, "thing/two") {
			return fmt.Errorf("the Events are not there though they may be written:\n%s", got)
		}
		return nil
	})
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		if message(o, "EventsWritable") != "" {
			return fmt.Errorf("the condition is still there: %s", message(o, "EventsWritable"))
		}
		return nil
	})
	requests, err := env.cluster.Audit().Since(before, func(e audit.Event) bool {
		return e.User.Username == op.user && e.ObjectRef.Resource == "events"
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("requests on Events: %v", tally(requests))
	for _, e := range requests {
		if e.ImpersonatedUser == nil || e.ImpersonatedUser.Username != user || e.ObjectRef.Namespace != s.ns {
			t.Errorf("an Event that is not the account's: %s", e)
		}
	}
	if len(requests) < 3 || len(requests) > 12 {
		t.Errorf("%d requests on Events, want a refused one, one for each parent, and few more", len(requests))
	}
}
