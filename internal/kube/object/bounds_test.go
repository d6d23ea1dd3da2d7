package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestFloatsAreFormattedAsEncodingJSONDoes(t *testing.T) {
	for _, f := range []float64{0, 1.5, -2.25, 1e-6, 9.9e-7, 1e-7, 1e20, 9.9e20, 1e21, -1e21, 5e300, math.SmallestNonzeroFloat64} {
		want, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		// encoding/json writes e-7, strconv e-07: the same number.
		if got := string(Append(nil, f)); strings.Replace(got, "e-0", "e-", 1) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(Append(nil, f)); got != "null" {
			t.Errorf("%v is written as %s", f, got)
		}
	}
}

func TestOutOfRangeNumbersAreInfinite(t *testing.T) {
	if got := decode(t, `{"n":1e999}`).Content()["n"]; got != math.Inf(1) {
		t.Errorf("got %v", got)
	}
}

func TestDecodeErrorsDoNotQuoteInput(t *testing.T) {
	_, err := Decode([]byte(`{"metadata":{"name":"a"},"data":{"password":secret}}`))
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "the text is not JSON after byte ") {
		t.Errorf("err = %v", err)
	}
	for e := range stream(strings.NewReader(`{"type":"ADDED","object":{"data":{"password":secret}}}`)).ResultChan() {
		if status, ok := e.Object.(*metav1.Status); !ok || strings.Contains(status.Message, "secret") {
			t.Errorf("the watch brings %v", e.Object)
		}
	}
	if err := withoutText(errNoObject); !errors.Is(err, errNoObject) {
		t.Errorf("err = %v, want it as it is", err)
	}
}

func TestMalformedMetadataReadsAsEmpty(t *testing.T) {
	o := decode(t, `{"kind":"A","metadata":{"name":77,"namespace":null,"deletionTimestamp":null,"generation":"x","resourceVersion":"99999999999999999999999",`+
		`"labels":{"a":7,"b":"c"},"annotations":[],"managedFields":7,"ownerReferences":[{"x":{"uid":"no"},"name":{"uid":"no"},"uid":"u"}]}}`+"\n\n")
	value, has := o.Lookup("a")
	owner, owned := o.Owner("u")
	_, controlled := o.Controller()
	got := []any{o.Key().String(), o.Deleting(), o.Generation(), o.Version(), value, has, o.Label("b"), o.Annotation("a"), owner, owned, controlled, o.Text("metadata", "labels", "b", "c"), o.Text("kind", "x"), o.Text("metadata", "name"), o.Text("none", "a"), o.Int("metadata", "generation"), o.Int("kind", "x")}
	want := []any{"/", false, int64(0), uint64(0), "", false, "c", "", Owner{UID: "u"}, true, false, "", "", "", "", int64(0), int64(0)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(o.data, "}") {
		t.Errorf("the end of the line is kept: %q", o.data)
	}
}

func TestOwnersAreFoundByUID(t *testing.T) {
	o := decode(t, `{"metadata":{"ownerReferences":[{"uid":"1","controller":true,"blockOwnerDeletion":true,"name":"a"},{"blockOwnerDeletion":false,"uid":"2","controller":false},{"uid":"3"}]}}`)
	for uid, want := range map[types.UID]Owner{"1": {UID: "1", Controller: true, Block: true, Name: "a"}, "2": {UID: "2"}, "3": {UID: "3"}} {
		if got, ok := o.Owner(uid); !ok || got != want {
			t.Errorf("owner %s is %+v, %v; want %+v", uid, got, ok, want)
		}
	}
	if got, ok := o.Owner("4"); ok {
		t.Errorf("an owner that is none is %+v", got)
	}
	if got, ok := o.Controller(); !ok || got.UID != "1" {
		t.Errorf("the controller is %+v, %v", got, ok)
	}
}

// managed has similar managedFields entries.
const managed = `{"metadata":{"name":"a","managedFields":[
	{"manager":"templater/a","operation":"Apply","fieldsV1":{"f:data":{"f:x":{}}, "f:spec": {"f:conditions":{}}}},
	{"manager":"templater/b","operation":"Update","fieldsV1":{"f:data":{"f:b":{}}}},
	{"manager":"templater/a","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{"f:phase":{}}}},
	{"manager":"templater/c","operation":"Update","subresource":"status","fieldsV1":{"f:status":{"f:conditions":{"f:c":{}}}}},
	{"manager":"templater/d","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{"f:conditions":{"f:d":{}},"f:d":{}}}},
	{"manager":"templater/e","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{"f:e":{}}}},
	{"manager":"helm","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{"f:helm":{}}}}]}}`

func TestFieldManagersAreDistinguished(t *testing.T) {
	for how, text := range map[string]string{"as it is": managed, "without white space": compact(t, managed), "labeled": strings.Replace(managed, `"name":"a"`, `"name":"a","labels":{"templater.dev/parent-uid":"f:x"}`, 1)} {
		o := decode(t, text)
		field := func(name string) map[string]any { return map[string]any{name: map[string]any{}} }
		for who, want := range map[[2]string]FieldSet{
			{"templater/a", ""}:       {"f:data": field("f:x"), "f:spec": field("f:conditions")},
			{"templater/a", "status"}: {"f:status": field("f:phase")},
			{"templater/b", ""}:       nil,
			{"templater/c", "status"}: nil,
		} {
			if diff := cmp.Diff(want, o.Applied(who[0], who[1])); diff != "" {
				t.Errorf("%s: applied by %v (-want +got):\n%s", how, who, diff)
			}
		}
		others := map[string]FieldSet{}
		for manager, fields := range o.AppliedByOthers("templater/a", "status") {
			others[manager] = fields
		}
		want := map[string]FieldSet{
			"templater/d": {"f:status": map[string]any{"f:conditions": field("f:d"), "f:d": map[string]any{}}},
			"templater/e": {"f:status": field("f:e")},
		}
		if diff := cmp.Diff(want, others); diff != "" {
			t.Errorf("%s: applied by others (-want +got):\n%s", how, diff)
		}
		for manager := range o.AppliedByOthers("templater/a", "status") {
			if manager != "templater/d" {
				t.Errorf("%s: the first of the others is %s", how, manager)
			}
			break
		}
		holders := map[string]FieldSet{}
		for manager, fields := range o.Conditions {
			holders[manager] = fields
		}
		if diff := cmp.Diff(map[string]FieldSet{"templater/c": field("f:c"), "templater/d": field("f:d")}, holders); diff != "" {
			t.Errorf("%s: holders of conditions (-want +got):\n%s", how, diff)
		}
		for manager := range o.Conditions {
			if manager != "templater/c" {
				t.Errorf("%s: the first holder is %s", how, manager)
			}
			break
		}
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestUnusualResponsesAreDecoded(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind":"Status","apiVersion":"v2","metadata":{"name":"a"}}`:                           "object a",
		`{"kind":"Review","status":{"allowed":true}}`:                                           "object ",
		`{"kind":"AList","items":[{"metadata":{"name":"a"}}]}`:                                  "list  :  A a",
		`{"kind":"AList","continue":"no","metadata":{"resourceVersion":"1"},"items":[]}`:        "list 1 :",
		`{"kind":"AList","metadata":{"resourceVersion":"1"},"spec":{"items":[1]},"items":[{}]}`: "list 1 :  A ",
	} {
		o, _, err := serializer{}.Decode([]byte(body), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", body, err)
		} else if got := answerText(o); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
	for _, body := range []string{`{"kind":"Status","apiVersion":"v1","code":"x"}`, `{"kind":"AList","items":[7]}`, `{"kind":"AList","items":[[]]}`} {
		if o, _, err := (serializer{}).Decode([]byte(body), nil, nil); err == nil {
			t.Errorf("%s is taken for %s", body, answerText(o))
		}
	}
	event := &metav1.WatchEvent{}
	if _, _, err := (events{}).Decode([]byte(`{"x":{"type":"DELETED"},"type":"ADDED","object":{"a":1}}`), nil, event); err != nil || event.Type != "ADDED" || string(event.Object.Raw) != `{"a":1}` {
		t.Errorf("the frame is taken for %s %s, %v", event.Type, event.Object.Raw, err)
	}
}

func TestListDeepCopyIsIndependent(t *testing.T) {
	l := &List{Items: nil}
	for _, name := range []string{"a", "b"} {
		l.Items = append(l.Items, decode(t, `{"metadata":{"name":"`+name+`"}}`))
	}
	copied, _ := l.DeepCopyObject().(*List)
	copied.Items[0] = copied.Items[1]
	if got := answerText(l); got != "list  :   a,   b" {
		t.Errorf("the list has become %q", got)
	}
	if m := decode(t, `{"metadata":{"name":"a","annotations":{"a":"b"}}}`).GetObjectMeta(); m.GetAnnotations() != nil {
		t.Errorf("an object that has a name tells its annotations: %v", m.GetAnnotations())
	}
}
