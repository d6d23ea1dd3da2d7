package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

func TestRemainingPermissionsAfterRevocation(t *testing.T) {
	left := func(w *revoked) (out []string) {
		for _, rule := range w.rules() {
			r, _ := rule.(map[string]any)
			resources, _ := r["resources"].([]any)
			verbs, _ := r["verbs"].([]any)
			groups, _ := r["apiGroups"].([]any)
			if wantGroup := map[any]any{"configmaps": "", "pods": "", "parts": model.Group}[resources[0]]; groups[0] != wantGroup {
				t.Errorf("%v are in the group %v, want %v", resources, groups, wantGroup)
			}
			out = append(out, verbs[0].(string)+" "+resources[0].(string))
		}
		return out
	}
	var all []string
	for _, permission := range model.Permissions {
		all = append(all, permission.String())
	}
	one := model.Permission{Resource: "parts", Verb: "create"}
	for why, row := range map[string]struct {
		by   map[model.Permission]int
		want []string
	}{
		"no revocation":         {nil, all},
		"revoked twice":         {map[model.Permission]int{one: 2}, slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == "create parts" })},
		"all revocations ended": {map[model.Permission]int{one: 0}, all},
	} {
		if diff := cmp.Diff(row.want, left(&revoked{by: row.by})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}
