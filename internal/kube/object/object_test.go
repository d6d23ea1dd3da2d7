package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// child is a ConfigMap as returned by the API server.
const child = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u-1","resourceVersion":"17","generation":3,` +
	`"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"templater.dev/controller":"apps","templater.dev/parent-uid":"p-1","q\"<":"\u003c"},` +
	`"annotations":{"templater.dev/applied-hash":"0123"},"ownerReferences":[{"apiVersion":"v1","kind":"Other","name":"o","uid":"o-1"},` +
	`{"apiVersion":"example.org/v1","kind":"App","name":"one","uid":"p-1","controller":true,"blockOwnerDeletion":true}],` +
	`"managedFields":[{"manager":"templater/apps","operation":"Apply","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":` +
	`{"f:data":{"f:x":{}},"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"p-1\"}":{}}}}},` +
	`{"manager":"kubectl-edit","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:y":{}}}},` +
	`{"manager":"kubelet","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","subresource":"status","fieldsV1":` +
	`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{}}},"f:phase":{}}}}]},"data":{"x":"1","y":"\"2\"\n"}}` + "\n"

func decode(t *testing.T, text string) *Object {
	t.Helper()
	o, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestObjectKeepsAllButVolatileMetadata(t *testing.T) {
	for name, text := range map[string]string{
		"as the server writes it":         child,
		"managedFields last":              `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","managedFields":[{"manager":"m"}]}}`,
		"managedFields first":             `{"apiVersion":"v1","kind":"A","metadata":{"managedFields":[{"manager":"m"}],"name":"a"},"spec":{}}`,
		"managedFields alone":             `{"metadata":{"managedFields":[]},"kind":"A"}`,
		"white space":                     "{ \"kind\" : \"A\" ,\n \"metadata\" : {\n \"managedFields\" : [ ] ,\n \"name\" : \"a\"\n }, \"x\" : [ 1 , [ ] , { } , \"s\" ] }",
		"no metadata":                     `{"kind":"A","spec":{"a":null,"b":true,"c":false,"d":[[],[{}]]}}`,
		"metadata is something else":      `{"kind":"A","metadata":7}`,
		"something named alike elsewhere": `{"kind":"A","spec":{"metadata":{"managedFields":[1]},"managedFields":2},"metadata":{"name":"a"}}`,
		"numbers":                         `{"kind":"A","n":[0,-1,9223372036854775807,9223372036854775808,1.5,1e3,-0.0,1E-7]}`,
		"escapes":                         `{"kind":"A","metadata":{"name":"\u0061"},"s":"\ud83d\ude00\\\"\u2028","k\ty":"/\/"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var want unstructured.Unstructured
			if err := json.Unmarshal([]byte(text), &want.Object); err != nil {
				t.Fatal(err)
			}
			if err := want.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if m, ok := want.Object["metadata"].(map[string]any); ok {
				delete(m, "managedFields")
				delete(m, "resourceVersion")
			}
			if diff := cmp.Diff(want.Object, decode(t, text).Content()); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnpairedSurrogatesAreReplaced(t *testing.T) {
	for text, want := range map[string]string{
		`\ud83d`: "\ufffd", `\ude00`: "\ufffd", `a\ud83db`: "a\ufffdb", `\ud83d\u0061`: "\ufffda", `\ud83d\ud83d\ude00`: "\ufffd\U0001f600",
		`\uDE00\uD83D`: "\ufffd\ufffd", `\\ud83d`: `\ud83d`, `\ud83d\\ude00`: "\ufffd\\ude00", `\ud83d\n`: "\ufffd\n", "\xff\xc3x": "\ufffd\ufffdx", `é\u00e9` + "\xff": "éé\ufffd",
	} {
		o := decode(t, `{"kind":"A","metadata":{"name":"a","managedFields":[{"manager":"`+text+`"}],"labels":{"`+text+`":"`+text+`"}},"s":"`+text+`"}`)
		got := map[string]any{"s": o.Text("s"), "label": o.Label(want), "content": o.Content()["s"]}
		if diff := cmp.Diff(map[string]any{"s": want, "label": want, "content": want}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		var like struct{ S string }
		if err := json.Unmarshal([]byte(`{"s":"`+text+`"}`), &like); err != nil || like.S != want {
			t.Errorf("%q: encoding/json reads %q, %v", text, like.S, err)
		}
	}
}

func TestObjectReadsMetadata(t *testing.T) {
	o := decode(t, child)
	owner, _ := o.Controller()
	quoted, has := o.Lookup(`q"<`)
	got := []any{
		o.Key().String(), string(o.UID()), o.ResourceVersion(), o.Version(), o.Generation(), o.Deleting(), o.APIVersion(), o.Kind(),
		o.Label("templater.dev/controller"), quoted, has, o.Has("none"), o.Label("none"), o.Annotation("templater.dev/applied-hash"), o.Annotation("none"), owner, o.Owners(),
	}
	want := []any{
		"ns/a", "u-1", "17", uint64(17), int64(3), false, "v1", "ConfigMap",
		"apps", "<", true, false, "", "0123", "", Owner{APIVersion: "example.org/v1", Kind: "App", Name: "one", UID: "p-1", Controller: true, Block: true}, 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestObjectWithoutMetadataReadsAsEmpty(t *testing.T) {
	o := decode(t, `{"kind":7}`)
	_, owned := o.Controller()
	got := []any{o.Key().String(), string(o.UID()), o.Version(), o.Kind(), o.Label("a"), owned, o.Owners(), o.Applied("templater/a", ""), o.Terminating("now") == o}
	if diff := cmp.Diff([]any{"/", "", uint64(0), "", "", false, 0, FieldSet(nil), true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAppliedReturnsFieldsOwnedByManager(t *testing.T) {
	o := decode(t, child)
	want := FieldSet{
		"f:data":     map[string]any{"f:x": map[string]any{}},
		"f:metadata": map[string]any{"f:ownerReferences": map[string]any{`k:{"uid":"p-1"}`: map[string]any{}}},
	}
	if diff := cmp.Diff(want, o.Applied("templater/apps", "")); diff != "" {
		t.Errorf("applied by templater (-want +got):\n%s", diff)
	}
	if o.Applied("kubectl-edit", "") != nil || o.Applied("templater/apps", "status") != nil {
		t.Error("something is applied by another manager, or in the status")
	}
	got := map[string]FieldSet{}
	for manager, fields := range o.Conditions {
		got[manager] = fields
	}
	if diff := cmp.Diff(map[string]FieldSet{"kubelet": {`k:{"type":"Ready"}`: map[string]any{".": map[string]any{}}}}, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestChildrenOfOneTemplateShareManagedFields(t *testing.T) {
	one := decode(t, child)
	other := decode(t, strings.ReplaceAll(strings.ReplaceAll(child, "p-1", "p-2"), `"name":"a"`, `"name":"b"`))
	if one.ownership != other.ownership {
		t.Errorf("ownership is kept twice:\n%q\n%q", one.ownership.Value(), other.ownership.Value())
	}
	if _, ok := other.Applied("templater/apps", "")["f:metadata"].(map[string]any)["f:ownerReferences"].(map[string]any)[`k:{"uid":"p-2"}`]; !ok {
		t.Error("the parent's UID does not come back")
	}
}

func TestLabelCannotHideFieldManagers(t *testing.T) {
	want := decode(t, child)
	for _, label := range []string{"A", "C", "templater", "templater/apps", "status", "f", "kubelet", "Ready"} {
		o := decode(t, strings.Replace(child, `"templater.dev/parent-uid":"p-1"`, `"templater.dev/parent-uid":"`+label+`"`, 1))
		if diff := cmp.Diff(want.Applied("templater/apps", ""), o.Applied("templater/apps", "")); diff != "" {
			t.Errorf("label %q: applied by templater (-want +got):\n%s", label, diff)
		}
		managers := []string{}
		for manager, fields := range o.Conditions {
			if _, ok := fields[`k:{"type":"Ready"}`]; ok {
				managers = append(managers, manager)
			}
		}
		if diff := cmp.Diff([]string{"kubelet"}, managers); diff != "" {
			t.Errorf("label %q: holders of the Ready condition (-want +got):\n%s", label, diff)
		}
	}
}

func TestTerminatingDoesNotModifyObject(t *testing.T) {
	o := decode(t, child)
	marked := o.Terminating("2026-01-02T00:00:00Z")
	if o.Deleting() || !marked.Deleting() {
		t.Fatalf("deleting: %v, the marked one: %v", o.Deleting(), marked.Deleting())
	}
	want := o.Content()
	want["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	if diff := cmp.Diff(want, marked.Content()); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if marked.Label("templater.dev/controller") != "apps" || marked.Applied("templater/apps", "") == nil {
		t.Error("the marked one has lost something")
	}
	if marked.Terminating("later") != marked {
		t.Error("marked twice")
	}
}

func TestFactsAreKeptWhileOwnedFieldsAreUnchanged(t *testing.T) {
	for why, row := range map[string]struct {
		from, to string
		want     bool
	}{
		"another value of ours":       {`"data":{"x":"1"`, `"data":{"x":"9"`, false},
		"another annotation":          {`"0123"`, `"4567"`, true},
		"a field was taken over":      {`"f:x":{}`, `"f:z":{}`, false},
		"no longer applied by us":     {`"manager":"templater/apps"`, `"manager":"other"`, false},
		"of another resource version": {`"17"`, `"18"`, true},
	} {
		before, after := decode(t, child), decode(t, strings.Replace(child, row.from, row.to, 1))
		before.Note(Covered)
		before.Note(Ready)
		after.Follow(before)
		if after.Noted(Covered) != row.want || after.Noted(Ready) || after.Noted(NotReady) {
			t.Errorf("%s: covered is %v, want %v; ready is %v, want false", why, after.Noted(Covered), row.want, after.Noted(Ready))
		}
	}
	fresh := decode(t, child)
	if fresh.Follow(decode(t, child)); fresh.Noted(Covered) {
		t.Error("a fact comes from nowhere")
	}
}

func TestDecodeRejectsInvalidObjects(t *testing.T) {
	for _, text := range []string{``, `7`, `[]`, `null`, `{`, `{"metadata":{"name":"a"}`, `{"metadata":{"name":}}`, `{"a":"` + "\n" + `"}`, `{} 7`, `{}}`} {
		if o, err := Decode([]byte(text)); err == nil {
			t.Errorf("%q is taken as %v", text, o.Content())
		}
	}
}

func TestAppendIsTheInverseOfContent(t *testing.T) {
	content := map[string]any{
		"b": []any{nil, true, false, int64(-5), 1.5, 1e30, "é\"\\\n<"}, "a": map[string]any{"z": map[string]any{}, "y": []any{}},
	}
	text := Append(nil, content)
	if want := `{"a":{"y":[],"z":{}},"b":[null,true,false,-5,1.5,1e+30,"é\"\\\n<"]}`; string(text) != want {
		t.Errorf("got %s", text)
	}
	o, err := From(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(content, o.Content()); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]any{
		`{"a":[9007199254740993,1.5,"x",null,true]}`: map[string]any{"a": []any{int64(9007199254740993), 1.5, "x", nil, true}}, `"x"`: "x", ` 7 `: int64(7), `null`: nil,
	} {
		got, ok := Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: valid %v (-want +got):\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{``, `{`, `a`, `1 2`, `[1,]`, `"\ud83d"`} {
		if got, ok := Parse(text); ok {
			t.Errorf("%s is taken for %v", text, got)
		}
	}
}

// FuzzContent compares the reader with encoding/json: both must return the same data for all text that Decode accepts.
func FuzzContent(f *testing.F) {
	for _, text := range []string{child, `{}`, `{"a":[1,"\\",{"b":"\""}],"metadata":{"managedFields":[{}],"labels":{"a":"b"}}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Decode(text)
		if err != nil {
			return
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(o.data), &want); err != nil {
			t.Fatalf("%q became %q: %v", text, o.data, err)
		}
		if metadata, ok := want["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
		}
		again, err := json.Marshal(o.Content())
		if err != nil {
			return // a number out of range
		}
		var got map[string]any
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	text := []byte(child)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnstructured measures the alternative, client-go's dynamic client.
func BenchmarkUnstructured(b *testing.B) {
	text := []byte(child)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, err := unstructured.UnstructuredJSONScheme.Decode(text, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContent(b *testing.B) {
	o, err := Decode([]byte(child))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Content()
	}
}

func BenchmarkApplied(b *testing.B) {
	o, err := Decode([]byte(child))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Applied("templater/apps", "")
	}
}

func BenchmarkAppend(b *testing.B) {
	o, err := Decode([]byte(child))
	if err != nil {
		b.Fatal(err)
	}
	content := o.Content()
	b.ReportAllocs()
	for b.Loop() {
		Append(make([]byte, 0, 1024), content)
	}
}

func TestLoggedObjectsShowOnlyKindAndName(t *testing.T) {
	o := decode(t, child)
	var text, line bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("a", "object", o)
	slog.New(slog.NewJSONHandler(&line, nil)).Info("a", "object", o)
	for how, got := range map[string]string{
		"text log": text.String(), "JSON log": line.String(), "print": fmt.Sprint(o), "%+v": fmt.Sprintf("%+v", o), "within another": fmt.Sprintf("%v", []*Object{o}),
	} {
		if !strings.Contains(got, "ConfigMap ns/a") || strings.Contains(got, "data") {
			t.Errorf("%s: %s", how, got)
		}
	}
	if got := decode(t, `{"kind":"Namespace","metadata":{"name":"a"}}`).String(); got != "Namespace a" {
		t.Errorf("got %q", got)
	}
}

var _ metav1.ObjectMetaAccessor = (*Object)(nil)

func TestAt(t *testing.T) {
	o := decode(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "status": {"list": [1, "a", {"b": null}], "phase": "P"}}`)
	if diff := cmp.Diff(o.Content()["status"], o.At("status")); diff != "" {
		t.Error(diff)
	}
	for _, path := range [][]string{{"spec"}, {"status", "phase", "x"}, {"status", "list", "0"}} {
		if got := o.At(path...); got != nil {
			t.Errorf("%v: %v", path, got)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	type status struct {
		List []int `json:"list"`
	}
	o := decode(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "status": {"list": [1, 2], "phase": "P"}}`)
	for why, row := range map[string]struct {
		path  []string
		want  status
		fails bool
	}{
		"a part":           {path: []string{"status"}, want: status{List: []int{1, 2}}},
		"nothing is there": {path: []string{"status", "none"}},
		"the whole object": {},
		"another type":     {path: []string{"status", "phase"}, fails: true},
	} {
		t.Run(why, func(t *testing.T) {
			var got status
			err := o.Unmarshal(&got, row.path...)
			if diff := cmp.Diff(row.want, got); diff != "" || (err != nil) != row.fails {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestInt(t *testing.T) {
	o, err := Decode([]byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "deletionGracePeriodSeconds": 30, "uid": "7"}, "half": 0.5}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, path := range map[int64][][]string{30: {{"metadata", "deletionGracePeriodSeconds"}}, 0: {{"metadata", "none"}, {"metadata", "uid"}, {"metadata"}, {"half"}, {"kind", "x"}}} {
		for _, p := range path {
			if got := o.Int(p...); got != want {
				t.Errorf("%v: %d, want %d", p, got, want)
			}
		}
	}
}
