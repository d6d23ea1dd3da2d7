// Package samples tests that the samples render as their pages say.
package samples

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// load reads a file of one YAML document.
func load(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// program compiles a sample's templates.
func program(t *testing.T, sample string) *render.Program {
	t.Helper()
	var tc v1.TemplateController
	load(t, sample+"/templatecontroller.yaml", &tc)
	source := render.Source{Controller: tc.Name, Helpers: tc.Spec.Helpers, Status: tc.Spec.Status.Template}
	if tc.Spec.Values != nil {
		if err := json.Unmarshal(tc.Spec.Values.Raw, &source.Values); err != nil {
			t.Fatal(err)
		}
	}
	for _, child := range tc.Spec.Children {
		source.Children = append(source.Children, syntax.Template{Name: child.Name, Text: child.Template})
	}
	for _, related := range tc.Spec.Related {
		source.Logs = source.Logs || related.Logs != nil
		source.Related = append(source.Related, syntax.Template{Name: related.Name, Text: related.Select})
		source.Logs = source.Logs || related.Logs != nil
	}
	compiled, err := render.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// example reads a sample's object.
func example(t *testing.T, sample string) map[string]any {
	t.Helper()
	var object map[string]any
	load(t, sample+"/example.yaml", &object)
	return object
}

// at returns the value below keys and positions; nil if there is none.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// env returns the environment of an object's first container.
func env(object map[string]any) map[string]any {
	out := map[string]any{}
	list, _ := at(object, "spec", "containers", 0, "env").([]any)
	for _, entry := range list {
		name, _ := at(entry, "name").(string)
		out[name] = at(entry, "value")
	}
	return out
}

// pod is a live Pod.
func pod(uid, phase string, annotations map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "pod-" + uid, "uid": uid, "annotations": annotations},
		"status":   map[string]any{"phase": phase},
	}
}

// leaving returns the Pod as it is while it is being deleted.
func leaving(pod map[string]any) map[string]any {
	pod["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return pod
}

// onNoNode is a Pod as the scheduler leaves it.
func onNoNode(uid string) map[string]any {
	p := pod(uid, "Pending", nil)
	p["metadata"].(map[string]any)["namespace"] = "default"
	p["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "PodScheduled", "status": "False", "message": "no node is large enough"}}
	return p
}

// onNode is a Pod with one container in that state.
func onNode(uid, phase string, state map[string]any) map[string]any {
	p := pod(uid, phase, nil)
	p["metadata"].(map[string]any)["namespace"] = "default"
	p["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "PodScheduled", "status": "True"}}
	p["status"].(map[string]any)["containerStatuses"] = []any{map[string]any{"name": "main", "state": state}}
	return p
}

func TestOrchestrReportsPods(t *testing.T) {
	p := program(t, "orchestr")
	type m = map[string]any
	for name, row := range map[string]struct {
		pods []m
		logs map[string]string
		want []any
	}{
		"none":       {nil, nil, []any{}},
		"on no node": {[]m{onNoNode("a")}, nil, []any{m{"namespace": "default", "name": "pod-a", "status": "Pending", "message": "no node is large enough"}}},
		"an image that is not there": {
			[]m{onNode("a", "Pending", m{"waiting": m{"reason": "ErrImagePull", "message": "not found"}})}, nil,
			[]any{m{"namespace": "default", "name": "pod-a", "status": "Pending", "containers": []any{m{"name": "main", "issue": "ErrImagePull", "message": "not found"}}}},
		},
		"an exit code": {
			[]m{onNode("a", "Failed", m{"terminated": m{"reason": "Error", "exitCode": int64(3)}})}, map[string]string{"main": "a: b\n- c\n"},
			[]any{m{"namespace": "default", "name": "pod-a", "status": "Failed", "containers": []any{m{"name": "main", "issue": "Error", "exitCode": int64(3), "log": "a: b\n- c\n"}}}},
		},
		"all went well": {
			[]m{onNode("a", "Succeeded", m{"terminated": m{"reason": "Completed", "exitCode": int64(0)}})}, map[string]string{"main": "done\n", "other": "x"},
			[]any{m{"namespace": "default", "name": "pod-a", "status": "Succeeded", "containers": []any{m{"name": "main", "log": "done\n"}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := p.Status(&render.Input{
				Parent: example(t, "orchestr"), Related: only("pods", row.pods),
				Logs: func(m) (map[string]string, error) { return row.logs, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			want := m{"notRunning": int64(len(row.want))}
			if len(row.want) > 0 {
				want["pods"] = row.want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrchestrRequiresAlert(t *testing.T) {
	p := program(t, "orchestr")
	for _, spec := range []any{nil, map[string]any{}, map[string]any{"alerts": map[string]any{}}, map[string]any{"alerts": map[string]any{"checkRunningPods": false}}} {
		parent := example(t, "orchestr")
		parent["spec"] = spec
		_, err := p.Status(&render.Input{Parent: parent})
		if want := "status:2:5: no alert is set: set spec.alerts.checkRunningPods to true"; err == nil || err.Error() != want {
			t.Errorf("with spec %v the error is %v, want %s", spec, err, want)
		}
	}
}

func TestSimpleDeploymentRendersOnePod(t *testing.T) {
	p := program(t, "simpledeployment")
	tests := map[string]struct {
		spec any
		want string
	}{
		"a string of digits remains a string": {map[string]any{"sleepytime": "120"}, "120"},
		"nothing set means 0":                 {map[string]any{}, "0"},
		"the whole spec may be missing":       {nil, "0"},
		"a value cannot become structure":     {map[string]any{"sleepytime": "1\n  hostPID: true"}, "1\n  hostPID: true"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parent := example(t, "simpledeployment")
			parent["spec"] = test.spec
			objects, err := p.Child("pod", &render.Input{Parent: parent})
			if err != nil || len(objects) != 1 {
				t.Fatalf("got %d objects and error %v, want one", len(objects), err)
			}
			got := objects[0].Content
			if diff := cmp.Diff(map[string]any{"NAME": "example-01", "SLEEPYTIME": test.want}, env(got)); diff != "" {
				t.Error(diff)
			}
			want := []any{"Pod", "example-01", "simple-app", "simple", "busybox:1.36", "sh", "-x", "-c"}
			command := at(got, "spec", "containers", 0, "command")
			if diff := cmp.Diff(want, []any{
				got["kind"], at(got, "metadata", "name"), at(got, "metadata", "labels", "app"),
				at(got, "spec", "containers", 0, "name"), at(got, "spec", "containers", 0, "image"),
				at(command, 0), at(command, 1), at(command, 2),
			}); diff != "" {
				t.Error(diff)
			}
			if at(got, "spec", "hostPID") != nil {
				t.Error("a value became a field")
			}
		})
	}
}

func TestSimpleDeploymentStatusListsPodUIDs(t *testing.T) {
	p := program(t, "simpledeployment")
	tests := map[string]struct {
		pods []map[string]any
		want []any
	}{
		"no Pod yet":                        {nil, []any{}},
		"a Pod":                             {[]map[string]any{pod("a", "Running", nil)}, []any{"a"}},
		"a Pod on its way out is not shown": {[]map[string]any{leaving(pod("a", "Running", nil))}, []any{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := p.Status(&render.Input{
				Parent:   example(t, "simpledeployment"),
				Observed: only("pod", test.pods),
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"children": test.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadTestRendersReplicas(t *testing.T) {
	p := program(t, "loadtest")
	parent := example(t, "loadtest")
	objects, err := p.Child("pods", &render.Input{Parent: parent})
	if err != nil || len(objects) != 5 {
		t.Fatalf("got %d objects and error %v, want five", len(objects), err)
	}
	want := map[string]any{"METHOD": "GET", "SERVICE": "nginx", "REQUEST_PATH": "/", "REPEAT": "10", "PAUSE": "0.5"}
	for i, object := range objects {
		if diff := cmp.Diff(want, env(object.Content)); diff != "" {
			t.Error(diff)
		}
		if got, want := at(object.Content, "metadata", "name"), "example-02-"+strconv.Itoa(i); got != want {
			t.Errorf("name is %v, want %s", got, want)
		}
	}
}

func TestLoadTestReplacesAllPodsOnAnyChange(t *testing.T) {
	p := program(t, "loadtest")
	before := specHash(t, p, example(t, "loadtest"))
	changes := map[string]func(spec map[string]any){
		"replicas":    func(spec map[string]any) { spec["replicas"] = int64(6) },
		"repeat":      func(spec map[string]any) { spec["test"].(map[string]any)["repeat"] = int64(11) },
		"a new field": func(spec map[string]any) { spec["new"] = "" },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			parent := example(t, "loadtest")
			change(parent["spec"].(map[string]any))
			if specHash(t, p, parent) == before {
				t.Error("the Pods are the same as before")
			}
		})
	}
	parent := example(t, "loadtest")
	parent["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"}
	if specHash(t, p, parent) != before {
		t.Error("a label of the parent replaces the Pods")
	}
}

// specHash returns the annotation that makes Pods differ after a change.
func specHash(t *testing.T, p *render.Program, parent map[string]any) string {
	t.Helper()
	objects, err := p.Child("pods", &render.Input{Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	hash, _ := at(objects[0].Content, "metadata", "annotations", "example.org/spec-hash").(string)
	if hash == "" {
		t.Fatal("no hash")
	}
	return hash
}

func TestLoadTestState(t *testing.T) {
	p := program(t, "loadtest")
	parent := example(t, "loadtest")
	parent["spec"].(map[string]any)["replicas"] = int64(2)
	now := map[string]any{"example.org/spec-hash": specHash(t, p, parent)}
	old := map[string]any{"example.org/spec-hash": "of another spec"}
	tests := map[string]struct {
		pods     []map[string]any
		state    string
		children []any
	}{
		"no Pod is there": {nil, "pending", []any{}},
		"no Pod has started": {
			[]map[string]any{pod("a", "Pending", now), pod("b", "Pending", now)}, "pending", []any{"a", "b"}},
		"one has started": {
			[]map[string]any{pod("a", "Running", now), pod("b", "Pending", now)}, "executing", []any{"a", "b"}},
		"one is done before the other has started": {
			[]map[string]any{pod("a", "Succeeded", now), pod("b", "Pending", now)}, "executing", []any{"a", "b"}},
		"all there are have succeeded, but one is missing": {
			[]map[string]any{pod("a", "Succeeded", now)}, "executing", []any{"a"}},
		"all have succeeded": {
			[]map[string]any{pod("a", "Succeeded", now), pod("b", "Succeeded", now)}, "finished", []any{"a", "b"}},
		"one fails while the other runs": {
			[]map[string]any{pod("a", "Failed", now), pod("b", "Running", now)}, "failed", []any{"a", "b"}},
		"a Pod of an earlier spec says nothing": {
			[]map[string]any{pod("a", "Failed", old), pod("b", "Succeeded", old)}, "pending", []any{}},
		"a Pod on its way out says nothing": {
			[]map[string]any{leaving(pod("a", "Failed", now)), pod("b", "Pending", now)}, "pending", []any{"b"}},
		"a Pod without annotations says nothing": {
			[]map[string]any{pod("a", "Running", nil)}, "pending", []any{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := p.Status(&render.Input{Parent: parent, Observed: only("pods", test.pods)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"children": test.children, "state": test.state}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// only returns live children of one name.
func only(name string, objects []map[string]any) func(string) ([]map[string]any, error) {
	return func(asked string) ([]map[string]any, error) {
		if asked != name {
			return nil, nil
		}
		return objects, nil
	}
}

func TestWebShopWaitsForDatabase(t *testing.T) {
	p := program(t, "webshop")
	for child, want := range map[string][]string{"service": nil, "db": nil, "migrate": nil, "web": {"db"}} {
		if got := p.Awaits(child); !slices.Equal(got, want) {
			t.Errorf("the template of %s awaits %v, want %v", child, got, want)
		}
	}
	in := &render.Input{Parent: example(t, "webshop"), Observed: only("db", []map[string]any{{"kind": "Service", "metadata": map[string]any{"name": "corner-db"}}})}
	for child, want := range map[string][]any{
		"service": {"Service", "corner"}, "db": {"Service", "corner-db", "StatefulSet", "corner-db"},
		"migrate": {"Job", "corner-migrate-1"}, "web": {"Deployment", "corner-web"},
	} {
		objects, err := p.Child(child, in)
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for _, o := range objects {
			got = append(got, o.Content["kind"], at(o.Content, "metadata", "name"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", child, diff)
		}
	}
}

func TestWebShopStatusShowsPhase(t *testing.T) {
	p := program(t, "webshop")
	job := func(conditions ...any) []map[string]any {
		return []map[string]any{{"kind": "Job", "status": map[string]any{"conditions": conditions}}}
	}
	for want, jobs := range map[string][]map[string]any{
		"waiting": nil, "starting": job(), "ready": job(map[string]any{"type": "Complete", "status": "True"}), "failed": job(map[string]any{"type": "Failed", "status": "True"}),
	} {
		got, err := p.Status(&render.Input{
			Parent: example(t, "webshop"), Observed: only("migrate", jobs),
			Ready: func(o map[string]any) bool { return at(o, "status", "conditions", 0, "type") == "Complete" },
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"database": "waiting", "migration": want, "web": "waiting"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
