package diff

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/openapi"
)

// TestTypeErrorKeepsComparingValidParts has a template that reads a field that its parents do not have. What works already is compared all the same.
func TestTypeErrorKeepsComparingValidParts(t *testing.T) {
	const maps = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: v1, kind: ConfigMap}
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: Secret, metadata: {name: "{{ .metadata.FIELD }}"}}
`
	wrong, right := strings.ReplaceAll(maps, "FIELD", "nam"), strings.ReplaceAll(maps, "FIELD", "name")
	for why, row := range map[string]struct{ old, edited, want string }{
		"the edit is wrong": {right, wrong, `TemplateController apps: children[map]:1:63: ConfigMap has no field .metadata.nam; did you mean name?`},
		"the edit mends":    {wrong, right, ""},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.serve(row.old, nil)
			comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Schemas: openapi.BuiltIn(), Now: noon}
			_, err := comparer.Compare(t.Context(), controllerFrom(t, row.edited))
			if row.want == "" && err != nil || row.want != "" && (err == nil || err.Error() != row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
