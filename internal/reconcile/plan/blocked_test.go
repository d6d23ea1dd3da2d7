package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// shut returns Dependencies that block the child template maps: the object of its dependency db does not exist.
func shut(t testing.TB) *Dependencies {
	t.Helper()
	db := v1.Child{Name: "db", Template: "a: b"}
	c, r := spec.Compile("tc", &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "v1", Kind: "ConfigMap"}, Children: []v1.Child{db, {Name: "maps", Template: "a: b", DependsOn: []string{"db"}}}})
	if r != nil {
		t.Fatal(r.Message)
	}
	return NewDependencies(c.Order, &child.Desired{Wanted: []*child.Wanted{{Entry: &db, Kind: configMaps, Name: types.NamespacedName{Namespace: "ns", Name: "db"}}}}, nil)
}

func TestPlanOfBlockedTemplates(t *testing.T) {
	one, old := side{name: "a", group: "maps", hash: "1"}, side{name: "a", group: "maps", hash: "0"}
	drifted, stripped, bare := one, one, old
	drifted.drifted, stripped.stripped, bare.stripped = true, true, true
	for why, row := range map[string]struct {
		strategy     v1.UpdateStrategyType
		wanted, live []side
		want         []string
	}{
		"nothing is created":                               {v1.UpdateApply, []side{one}, nil, []string{"1 pending"}},
		"nothing is changed":                               {v1.UpdateApply, []side{one}, []side{old}, []string{"1 pending"}},
		"nothing but what templater itself adds":           {v1.UpdateApply, []side{one}, []side{bare}, []string{"mark a", "1 pending"}},
		"drift is repaired":                                {v1.UpdateApply, []side{one}, []side{drifted}, []string{"update a because of .data.a"}},
		"what templater adds is given back":                {v1.UpdateApply, []side{one}, []side{stripped}, []string{"update a"}},
		"what is as it should be stays so":                 {v1.UpdateApply, []side{one}, []side{one}, []string{}},
		"nothing is pruned":                                {v1.UpdateApply, nil, []side{one}, []string{}},
		"nothing is replaced":                              {v1.UpdateRecreate, []side{one}, []side{old}, []string{"1 pending"}},
		"nothing is pruned where others would be replaced": {v1.UpdateRecreate, nil, []side{one}, []string{}},
		"what would stay in any case does not wait":        {v1.UpdateCreateOnly, []side{one}, []side{old}, []string{}},
		"what waits for somebody to delete it does so":     {v1.UpdateOnDelete, []side{one}, []side{old}, []string{"1 outdated"}},
	} {
		in := inputFor(t, v1.Child{Name: "maps", UpdateStrategy: v1.UpdateStrategy{Type: row.strategy}}, row.wanted, row.live)
		in.Dependencies = shut(t)
		p := Make(in)
		if diff := cmp.Diff(row.want, planText(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
		if p.Held["maps"] != (p.Pending > 0) {
			t.Errorf("%s: held %v, %d pending", why, p.Held, p.Pending)
		}
	}
}
