package helmtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/scaffold"
	convert "github.com/templater-dev/templater/internal/cli/scaffold/chart"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
)

// TestConvertedChartsRenderLikeHelm renders charts with their default values in Helm's engine, and their conversions by templater new
// in templater. The objects must be the same, except for files that a note is about.
func TestConvertedChartsRenderLikeHelm(t *testing.T) {
	const folder = "../../cli/scaffold/chart/testdata"
	for _, name := range []string{"webapp", "stateful", "library", "operator", "dynamic"} {
		t.Run(name, func(t *testing.T) {
			result, err := convert.Convert(os.DirFS(filepath.Join(folder, name)), schema.GroupVersionKind{Group: "charts.example.org", Version: "v1"}, false)
			if err != nil {
				t.Fatal(err)
			}
			told := map[string]bool{}
			for _, n := range result.Notes {
				told[n.File] = true
			}
			got := byName(t, converted(t, result))
			want := byName(t, released(t, filepath.Join(folder, name), told))
			if len(want) == 0 {
				t.Error("nothing is compared")
			}
			for at, object := range want {
				if diff := cmp.Diff(object, got[at]); diff != "" {
					t.Errorf("%s (-Helm +templater):\n%s", at, diff)
				}
			}
			t.Logf("%d of %d objects are compared", len(want), len(got))
		})
	}
}

// loadChart reads a chart and its subcharts.
func loadChart(t *testing.T, folder string) *chart.Chart {
	t.Helper()
	c := &chart.Chart{Metadata: &chart.Metadata{}, Values: map[string]any{}}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		name = filepath.ToSlash(name)
		file := &common.File{Name: name, Data: text}
		switch {
		case err != nil:
			return err
		case name == "Chart.yaml":
			return yaml.Unmarshal(text, c.Metadata)
		case name == "values.yaml":
			return yaml.Unmarshal(text, &c.Values)
		case strings.HasPrefix(name, "charts/"):
			if strings.Count(name, "/") == 2 && entry.Name() == "Chart.yaml" {
				c.AddDependency(loadChart(t, filepath.Dir(path)))
			}
		case strings.HasPrefix(name, "templates/"):
			c.Templates = append(c.Templates, file)
		default:
			c.Files = append(c.Files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// released returns the objects that Helm renders from a chart, except those of the files in without.
func released(t *testing.T, folder string, without map[string]bool) []any {
	t.Helper()
	c := loadChart(t, folder)
	out, err := engine.Engine{}.RenderWithContext(t.Context(), c, common.Values{
		"Values": c.Values, "Chart": c.Metadata, "Capabilities": common.DefaultCapabilities,
		"Release": map[string]any{"Name": "example", "Namespace": "default", "Service": "templater", "Revision": 1, "IsInstall": true, "IsUpgrade": false},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for name, text := range out {
		_, file, _ := strings.Cut(name, "/")
		if without[file] || strings.HasPrefix(filepath.Base(file), "_") || strings.HasPrefix(file, "charts/") {
			continue
		}
		documents, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, documents...)
	}
	return all
}

// converted returns the objects that templater renders from the files.
func converted(t *testing.T, result *scaffold.Result) []any {
	t.Helper()
	tc, parent := &v1.TemplateController{}, map[string]any{}
	for _, f := range result.Files {
		var err error
		switch f.Name {
		case "templatecontroller.yaml":
			err = yaml.UnmarshalStrict([]byte(f.Content), tc)
		case "example.yaml":
			err = yaml.Unmarshal([]byte(f.Content), &parent)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	parent["metadata"] = map[string]any{"name": "example", "namespace": "default", "uid": "0"}
	whole(parent)
	compiled, rejection := spec.Compile(tc.Name, &tc.Spec)
	if rejection != nil {
		t.Fatal(rejection.Message)
	}
	children := tc.Spec.Children
	if tc.Spec.Finalize != nil {
		children = slices.Concat(children, tc.Spec.Finalize.Children)
	}
	var all []any
	for _, child := range children {
		objects, err := compiled.Program.Child(child.Name, &render.Input{Parent: parent})
		if err != nil {
			t.Logf("children[%s] yields nothing: %v", child.Name, err)
		}
		for _, o := range objects {
			all = append(all, o.Content)
		}
	}
	return all
}

// whole converts numbers without a fraction to integers, as in responses of the API server.
func whole(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = whole(item)
		}
	case []any:
		for i, item := range value {
			value[i] = whole(item)
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}

// byName returns objects by kind and name.
func byName(t *testing.T, documents []any) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, document := range documents {
		object, ok := canonical(t, []any{document}).([]any)[0].(map[string]any)
		if !ok {
			t.Fatalf("no object: %v", document)
		}
		metadata, _ := object["metadata"].(map[string]any)
		all[fmt.Sprint(object["kind"], " ", metadata["name"])] = object
	}
	return all
}
