package helmtest

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/engine"
)

// controllerChart is the folder of the recipe for a controller in a chart.
const controllerChart = "../../../docs/how-to/cookbook/helm-chart"

// TestControllerChartRendersRecipeFiles renders the chart of the recipe in Helm's engine. The output must be exactly the files that
// the recipe is tested with.
func TestControllerChartRendersRecipeFiles(t *testing.T) {
	for file, got := range rendered(t, nil) {
		if diff := cmp.Diff(readFile(t, filepath.Join(controllerChart, file)), got); diff != "" {
			t.Errorf("%s (-file +chart):\n%s", file, diff)
		}
	}
	if diff := cmp.Diff(readFile(t, filepath.Join(controllerChart, "crd.yaml")), readFile(t, filepath.Join(controllerChart, "chart/crds/memcacheds.yaml"))); diff != "" {
		t.Errorf("crd.yaml (-file +chart):\n%s", diff)
	}
}

func TestControllerChartUsesValues(t *testing.T) {
	out := rendered(t, map[string]any{"className": "blue", "rbac": map[string]any{"create": false}, "cache": map[string]any{"image": "[[ .spec.megabytes ]]", "connections": 8}})
	if strings.TrimSpace(out["rbac.yaml"]) != "" {
		t.Errorf("unexpected RBAC rules:\n%s", out["rbac.yaml"])
	}
	documents, err := parse(out["templatecontroller.yaml"])
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, and the error %v", len(documents), err)
	}
	spec := documents[0].(map[string]any)["spec"].(map[string]any)
	want := map[string]any{"className": "blue", "values": map[string]any{"image": "[[ .spec.megabytes ]]", "connections": 8.0}}
	maps.DeleteFunc(spec, func(key string, _ any) bool { return want[key] == nil })
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("what values decide about (-want +got):\n%s", diff)
	}
}

// rendered returns the chart's templates as rendered by Helm, by file name, with some of its values replaced.
func rendered(t *testing.T, values map[string]any) map[string]string {
	t.Helper()
	c := loadChart(t, filepath.Join(controllerChart, "chart"))
	maps.Copy(c.Values, values)
	out, err := engine.Engine{}.RenderWithContext(t.Context(), c, common.Values{
		"Values": c.Values, "Chart": c.Metadata, "Release": map[string]any{"Name": "example", "Namespace": "default", "Service": "Helm"},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, text := range out {
		all[filepath.Base(name)] = text
	}
	if len(all) != 2 {
		t.Fatalf("the chart has %d templates, want 2", len(all))
	}
	return all
}
