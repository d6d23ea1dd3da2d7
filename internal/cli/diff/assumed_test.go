package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint/report"
)

// TestDeletionsBehindReadyWhenAreUncertain: a deletion that waits for a readyWhen is shown as certain only if that is true of the objects as they are.
func TestDeletionsBehindReadyWhenAreUncertain(t *testing.T) {
	entries := func(readyWhen string) string {
		return head + `
  children:
  - name: claim
    readyWhen: ` + readyWhen + `
    template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: claim}, data: {state: requested}}'
`
	}
	const map1 = `  - {name: map, DEPENDS template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: map-one}}'}` + "\n"
	waits := strings.NewReplacer("DEPENDS", "dependsOn: [claim],").Replace(map1)
	renamed := strings.ReplaceAll(waits, "map-one", "map-two")
	// A Deployment becomes ready by itself, so that reconciliations go on.
	const server = "  - {name: server, template: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: server}, spec: {replicas: 2}}'}\n"
	behind := func(entries string) string { return strings.ReplaceAll(entries, "[claim]", "[claim, server]") + server }
	for why, row := range map[string]struct {
		readyWhen string
		edit      func(entries string) string
		want      []string
	}{
		"not true yet":     {`eq .object.data.state "granted"`, nil, []string{"one", "  unknown ConfigMap map-one of map", "  create ConfigMap map-two of map"}},
		"evaluation fails": {`eq .object.status.phase "granted"`, nil, []string{"one", "  unknown ConfigMap map-one of map", "  create ConfigMap map-two of map"}},
		"true":             {`eq .object.data.state "requested"`, nil, []string{"one", "  delete ConfigMap map-one of map", "  create ConfigMap map-two of map"}},
		"true, and another object becomes ready": {
			`eq .object.data.state "requested"`, behind,
			[]string{"one", "  delete ConfigMap map-one of map", "  create ConfigMap map-two of map", "  create Deployment server of server"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.serve(entries(row.readyWhen)+strings.ReplaceAll(map1, "DEPENDS", ""), nil, one)
			edited := entries(row.readyWhen) + renamed
			if row.edit != nil {
				edited = row.edit(edited)
			}
			shown, got := c.compare(edited)
			got[0] = strings.TrimSuffix(got[0], " status") // whether that differs is no matter here
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			var b strings.Builder
			if err := Text(&b, report.Colors{}, shown); err != nil {
				t.Fatal(err)
			}
			unknown := strings.Contains(strings.Join(got, "\n"), "unknown")
			if says := strings.Contains(b.String(), "may be deleted (depends on readyWhen)"); says != unknown {
				t.Errorf("the text says that it is not known: %v, want %v:\n%s", says, unknown, b.String())
			}
		})
	}
}
