package lint

import (
	"fmt"
	"testing"
)

// TestCorrectTemplatesHaveNoFindings has templates that were once reported.
func TestCorrectTemplatesHaveNoFindings(t *testing.T) {
	const of = `apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: example}
spec:
  watch: {apiVersion: v1, kind: Pod}
  children:
  - name: both
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: "{{ .metadata.name }}"}
      spec: {ports: [{port: 80}]}
  - name: other
    template: |
      apiVersion: v1
      kind: Secret
      metadata: {name: "{{ .metadata.name }}"}
      stringData:
        text: %s
`
	for name, text := range map[string]string{
		"the kind of an object of several kinds": `{{ range .children.both }}{{ if eq .kind "Service" }}{{ .apiVersion }}{{ end }}{{ end }}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := found(t, fmt.Sprintf(of, text)); len(got) > 0 {
				t.Errorf("got %q", got)
			}
		})
	}
}
