package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// failing is a spec that fails for every parent labelled with the scope's name.
const failing = `
watch: {apiVersion: "@apiVersion", kind: "@kind", labelSelector: {matchLabels: {e2e: "@id"}}}
children:
- name: none
  template: |
    {{ fail "@text" }}
`

// TestEventsAreSeenAtOnce is about parents of kinds whose status is not ours: Events are all that their users have.
func TestEventsAreSeenAtOnce(t *testing.T) {
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
