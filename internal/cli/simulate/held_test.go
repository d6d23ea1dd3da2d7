package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
)

// TestFieldsOwnedByTemplaterAreRemoved has a child and a status of a cluster, of which templater has set some fields, and others have set more.
func TestFieldsOwnedByTemplaterAreRemoved(t *testing.T) {
	s := simulator(t, `
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {new: a}}
  status: {template: 'new: a'}
`)
	set := func(manager, subresource, fields string) any {
		return map[string]any{"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "subresource": subresource, "fieldsV1": data(t, fields)}
	}
	in := state(t, app, "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: default, labels: {templater.dev/child: map}}, data: {old: x, others: o}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: nobodys, namespace: default}, data: {old: x}}")
	in.Parent = memserver.Patch(in.Parent, data(t, `{metadata: {namespace: default, uid: u}, status: {old: x, others: o}}`))
	in.Parent = memserver.Patch(in.Parent, map[string]any{"metadata": map[string]any{"managedFields": []any{set("templater/apps", "status", `{"f:status": {"f:old": {}}}`)}}})
	in.Objects[0] = memserver.Patch(in.Objects[0], map[string]any{"metadata": map[string]any{"managedFields": []any{
		set("templater/apps", "", `{"f:data": {"f:old": {}}}`), set("others", "", `{"f:data": {"f:others": {}}}`),
	}}})
	unmanaged := func(in State) State {
		in = in.copy()
		none := map[string]any{"metadata": map[string]any{"managedFields": nil}}
		in.Parent = memserver.Patch(in.Parent, none)
		for i, o := range in.Objects {
			in.Objects[i] = memserver.Patch(o, none)
		}
		return in
	}
	held := func(in State) State {
		parent := read(in.Parent)
		var children []*object.Object
		for _, o := range in.Objects {
			children = append(children, read(o))
		}
		return s.Holding(unmanaged(in), parent, children)
	}
	for why, row := range map[string]struct {
		in                 State
		wantData, wantLeft string
	}{
		"known":     {held(in), `{new: a, others: o}`, `{new: a, others: o}`},
		"not known": {unmanaged(in), `{new: a, old: x, others: o}`, `{new: a, old: x, others: o}`},
	} {
		t.Run(why, func(t *testing.T) {
			_, out, _ := settle(t, s, row.in)
			if diff := cmp.Diff(data(t, row.wantData), out.Objects[0]["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			status := Map(out.Parent["status"])
			delete(status, "conditions")
			if diff := cmp.Diff(data(t, row.wantLeft), status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
