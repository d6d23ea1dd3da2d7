package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/tools/release/manifest"
	"github.com/templater-dev/templater/tools/release/pack"
)

const source = "../../.."

var image = manifest.Image{Repository: "registry.example.org/templater", Digest: "sha256:" + strings.Repeat("0123456789abcdef", 4)}

func installed(t *testing.T) []map[string]any {
	t.Helper()
	objects, err := manifest.Objects(source, image)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// load generates the chart and loads it like Helm.
func load(t *testing.T) *v2.Chart {
	t.Helper()
	files, err := Make(installed(t), image, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := pack.TarGz(files...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	return c
}

// rendered is the output of helm template, by kind and name.
type rendered map[string]map[string]any

func render(t *testing.T, namespace, values string) (rendered, error) {
	t.Helper()
	c := load(t)
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: "templater", Namespace: namespace, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	out, err := engine.Engine{Strict: true}.RenderWithContext(t.Context(), c, all)
	if err != nil {
		return nil, err
	}
	objects := rendered{}
	for path, text := range out {
		if !strings.HasSuffix(path, ".yaml") {
			continue
		}
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &o); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, text)
		}
		if o != nil {
			objects[key(o)] = o
		}
	}
	return objects, nil
}

func key(o map[string]any) string {
	metadata := o["metadata"].(map[string]any)
	name := o["kind"].(string) + " " + metadata["name"].(string)
	if namespace := metadata["namespace"]; namespace != nil {
		name += " in " + namespace.(string)
	}
	return name
}

func mustTemplate(t *testing.T, namespace, values string) rendered {
	t.Helper()
	objects, err := render(t, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// crds are the CRDs of the installation.
var crds = []string{
	"CustomResourceDefinition namespacedtemplatecontrollers.templater.dev",
	"CustomResourceDefinition templatecontrollers.templater.dev",
	"CustomResourceDefinition templaterevisions.templater.dev",
}

func TestChartMatchesManifests(t *testing.T) {
	got := mustTemplate(t, "templater-system", "{}")
	want := rendered{}
	for _, o := range installed(t) {
		want[key(o)] = o
	}
	delete(want, "Namespace templater-system") // created by helm install --create-namespace
	for _, crd := range crds {
		if policy := got.get(t, crd, "metadata", "annotations", "helm.sh/resource-policy"); policy != `"keep"` {
			t.Fatalf("the resource policy of %s is %s, want keep: helm uninstall would delete it, and all objects of its kind", crd, policy)
		}
		delete(got[crd]["metadata"].(map[string]any)["annotations"].(map[string]any), "helm.sh/resource-policy")
	}
	if diff := cmp.Diff(canonical(t, want), canonical(t, got)); diff != "" {
		t.Errorf("objects (-config/default +chart):\n%s", diff)
	}
	if len(want) < 14 {
		t.Errorf("there are only %d objects", len(want))
	}
}

// canonical converts all numbers to one type.
func canonical(t *testing.T, objects rendered) map[string]any {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// get returns a value of an object as JSON, or the missing key.
func (r rendered) get(t *testing.T, object string, path ...any) string {
	t.Helper()
	value, err := at(r[object], path...)
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(*value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const deployment = "Deployment templater in templater-system"

func TestValuesChangeManifests(t *testing.T) {
	for why, row := range map[string]struct {
		values string
		path   []any
		want   string
	}{
		"a tag in place of the digest":       {"image: {tag: v9}", inContainer("image"), `"registry.example.org/templater:v9"`},
		"another registry, the same image":   {"image: {repository: mirror/t}", inContainer("image"), `"mirror/t@` + image.Digest + `"`},
		"a pull policy":                      {"image: {pullPolicy: Always}", inContainer("imagePullPolicy"), `"Always"`},
		"secrets to pull with":               {"imagePullSecrets: [{name: a}]", path("spec", "template", "spec", "imagePullSecrets"), `[{"name":"a"}]`},
		"replicas":                           {"replicas: 3", path("spec", "replicas"), "3"},
		"one resource, the others stay":      {"resources: {requests: {cpu: 1}}", inContainer("resources"), `{"limits":{"memory":"512Mi"},"requests":{"cpu":1,"memory":"128Mi"}}`},
		"Go knows the memory, in Gi":         {"resources: {limits: {memory: 1Gi}}", inContainer("env", 1), `{"name":"GOMEMLIMIT","value":"921MiB"}`},
		"Go knows the memory, in Mi":         {"resources: {limits: {memory: 100Mi}}", inContainer("env", 1), `{"name":"GOMEMLIMIT","value":"90MiB"}`},
		"no limit":                           {"resources: {limits: null}", inContainer("env", 1), "there is no [spec template spec containers 0 env 1] any more"},
		"flags come last":                    {`extraArgs: [--log-level=verbose, "--kube-qps=5"]`, inContainer("args", 7), `"--kube-qps=5"`},
		"each TemplateController an account": {"requireServiceAccount: true", inContainer("args", 6), `"--require-service-account"`},
		"nodes":                              {"nodeSelector: {a: b}", path("spec", "template", "spec", "nodeSelector"), `{"a":"b"}`},
		"tolerations":                        {"tolerations: [{key: a, operator: Exists}]", path("spec", "template", "spec", "tolerations"), `[{"key":"a","operator":"Exists"}]`},
		"a priority":                         {"priorityClassName: system-cluster-critical", path("spec", "template", "spec", "priorityClassName"), `"system-cluster-critical"`},
	} {
		if got := mustTemplate(t, "templater-system", row.values).get(t, deployment, row.path...); got != row.want {
			t.Errorf("%s: %s yields %s, want %s", why, row.values, got, row.want)
		}
	}
}

func TestValuesOmitObjects(t *testing.T) {
	all := mustTemplate(t, "templater-system", "{}")
	for values, want := range map[string][]string{
		"crd: {install: false}":       crds,
		"requireServiceAccount: true": {"ClusterRole templater-children", "ClusterRoleBinding templater-children"},
	} {
		left := maps.Clone(all)
		for key := range mustTemplate(t, "templater-system", values) {
			delete(left, key)
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(left))); diff != "" {
			t.Errorf("%s leaves out (-want +got):\n%s", values, diff)
		}
	}
}

func TestExtraRulesAreAggregated(t *testing.T) {
	got := mustTemplate(t, "templater-system", `permissions: [{apiGroups: [""], resources: [pods], verbs: [get]}]`)
	const role = "ClusterRole templater-permissions"
	if rules := got.get(t, role, "rules"); rules != `[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]` {
		t.Errorf("got the rules %s", rules)
	}
	for label, value := range manifestSelector(t) {
		if got.get(t, role, "metadata", "labels", label) != `"`+value+`"` {
			t.Errorf("%s has no label %s: %s", role, label, value)
		}
	}
}

// manifestSelector is the label selector by which templater-children aggregates roles.
func manifestSelector(t *testing.T) map[string]string {
	t.Helper()
	o, err := manifest.Find(installed(t), "ClusterRole", "templater-children")
	if err != nil {
		t.Fatal(err)
	}
	found, err := at(o, "aggregationRule", "clusterRoleSelectors", 0, "matchLabels")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for key, value := range (*found).(map[string]any) {
		out[key] = value.(string)
	}
	return out
}
