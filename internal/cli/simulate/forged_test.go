package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// TestTamperedAnnotationsAreIgnored has children of a cluster whose keys nobody has here. The seals count, as they do in the operator, and not
// the annotations that repeat them.
func TestTamperedAnnotationsAreIgnored(t *testing.T) {
	const entry = `  children:
  - name: maps
    updateStrategy: {type: Recreate}
    prunePolicy: Orphan
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
`
	other := strings.NewReplacer("name: maps", "name: others", "{name: {{ . }}}", "{name: {{ . }}-2}").Replace(entry)
	for why, row := range map[string]struct {
		annotations, data map[string]any
		rest              string
		want              []string
	}{
		"the hash is removed":                              {map[string]any{v1.AnnotationHash: nil}, nil, entry, nil},
		"the hash is forged":                               {map[string]any{v1.AnnotationHash: "0123"}, nil, entry, nil},
		"the hash is forged, and values edited":            {map[string]any{v1.AnnotationHash: "0123"}, map[string]any{"text": "edited"}, entry, nil},
		"the hash and the seal are removed":                {map[string]any{v1.AnnotationHash: nil, v1.AnnotationSeal: nil}, nil, entry, nil},
		"prune annotation removed, child template removed": {map[string]any{v1.AnnotationPrune: nil}, nil, other, []string{"create ConfigMap default/a-2"}},
		"prune annotation changed, child template removed": {map[string]any{v1.AnnotationPrune: "Delete"}, nil, other, []string{"create ConfigMap default/a-2"}},
		"the template has changed":                         {nil, nil, strings.Replace(entry, "text: {{", "more: {{", 1), []string{"delete ConfigMap default/a", "update the status of App default/one", "create ConfigMap default/a", "update the status of App default/one"}},
	} {
		t.Run(why, func(t *testing.T) {
			_, made, _ := settle(t, simulator(t, entry), state(t, strings.Replace(app, "[a, b]", "[a]", 1)))
			o := made.Objects[0]
			annotations := map[string]any{v1.AnnotationSeal: "7" + strings.TrimPrefix(Text(Map(Map(o["metadata"])["annotations"])[v1.AnnotationSeal]), "1")}
			for key, value := range row.annotations {
				annotations[key] = value
			}
			live := memserver.Patch(o, map[string]any{"metadata": map[string]any{"annotations": annotations}, "data": row.data})
			if row.data == nil {
				live["data"] = o["data"]
			}
			in := State{Parent: made.Parent, Objects: []map[string]any{live}, Now: noon}
			_, _, writes := settle(t, simulator(t, row.rest), in)
			if diff := cmp.Diff(row.want, writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}
