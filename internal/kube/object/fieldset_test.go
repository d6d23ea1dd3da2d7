package object

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// data parses JSON like apimachinery: integers are int64.
func data(t *testing.T, text string) any {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"X","it":` + text + `}`)); err != nil {
		t.Fatal(err)
	}
	return u.Object["it"]
}

// mapping is data for a JSON object.
func mapping(t *testing.T, text string) map[string]any {
	t.Helper()
	m, ok := data(t, text).(map[string]any)
	if !ok {
		t.Fatalf("%s is not a mapping", text)
	}
	return m
}

func set(t *testing.T, text string) FieldSet {
	t.Helper()
	var out FieldSet
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUncoveredReturnsFirstUnownedPath(t *testing.T) {
	for why, row := range map[string]struct{ set, content, want string }{
		"every leaf is there": {
			`{"f:data":{"f:a":{}}}`, `{"data":{"a":"1"}}`, "",
		},
		"a leaf was taken over": {
			`{"f:data":{}}`, `{"data":{"a":"1"}}`, "", // data without fields below it is atomic
		},
		"one of two leaves was taken over": {
			`{"f:data":{"f:a":{}}}`, `{"data":{"a":"1","b":"2"}}`, ".data.b",
		},
		"nothing is owned at all": {
			`{}`, `{"data":{"a":"1"}}`, ".data.a",
		},
		"name, namespace, apiVersion and kind are never in a set": {
			`{"f:metadata":{"f:labels":{"f:a":{}}}}`, `{"apiVersion":"v1","kind":"X","metadata":{"name":"n","namespace":"ns","labels":{"a":"1"}}}`, "",
		},
		"metadata that is not a mapping is a leaf": {
			`{"f:data":{}}`, `{"metadata":"none"}`, ".metadata",
		},
		"metadata that is null leaves nothing": {
			`{}`, `{"metadata":null}`, "",
		},
		"a label went": {
			`{"f:metadata":{"f:labels":{"f:b":{}}}}`, `{"metadata":{"name":"n","labels":{"a":"1","b":"1"}}}`, ".metadata.labels.a",
		},
		"the server drops nulls": {
			`{}`, `{"spec":null}`, "",
		},
		"an empty list with keys leaves nothing in a set": {
			`{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`,
			`{"spec":{"initContainers":[],"dnsConfig":{"options":[],"x":null},"containers":[{"name":"a","env":[]}]}}`, "",
		},
		"a list item that is held as a whole": {
			`{"f:spec":{"f:ports":{"k:{\"port\":1}":{}}}}`, `{"spec":{"ports":[{"port":1,"name":"a"}]}}`, "",
		},
		"an empty map is a leaf": {
			`{"f:spec":{"f:a":{}}}`, `{"spec":{"a":"1","emptyDir":{}}}`, ".spec.emptyDir",
		},
		"a list item is found by its key, though the server filled in a part of the key": {
			`{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}`, `{"ports":[{"containerPort":80}]}`, "",
		},
		"a list item is gone": {
			`{"f:ports":{"k:{\"containerPort\":81,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}`, `{"ports":[{"containerPort":80}]}`, ".ports[]",
		},
		"a field of a list item was taken over": {
			`{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}`, `{"containers":[{"name":"a","image":"b"}]}`, ".containers[].image",
		},
		"items of a set are found by their value": {
			`{"f:finalizers":{"v:\"x\"":{}}}`, `{"finalizers":["x","y"]}`, ".finalizers[]",
		},
		"a list item with another large key": {
			`{"f:l":{"k:{\"id\":9007199254740993}":{".":{},"f:id":{}}}}`, `{"l":[{"id":9007199254740992}]}`, ".l[]",
		},
		"another large item of a set": {
			`{"f:l":{"v:9007199254740993":{}}}`, `{"l":[9007199254740992]}`, ".l[]",
		},
		"an atomic list is one leaf": {
			`{"f:args":{}}`, `{"args":["a","b"]}`, "",
		},
	} {
		t.Run(why, func(t *testing.T) {
			content, _ := data(t, row.content).(map[string]any)
			if got := set(t, row.set).Uncovered(content); got != row.want {
				t.Errorf("uncovered = %q, want %q", got, row.want)
			}
		})
	}
}

func TestStatusComparison(t *testing.T) {
	const conditions = `"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:type":{},"f:status":{}}}`
	for why, row := range map[string]struct {
		set, content, current string
		same, exceeds         bool
	}{
		"equal": {
			`{"f:state":{}}`, `{"state":"a"}`, `{"state":"a"}`, true, false,
		},
		"numbers are equal by value": {
			`{"f:n":{}}`, `{"n":1}`, `{"n":1.0}`, true, false,
		},
		"large integers are told apart": {
			`{"f:n":{}}`, `{"n":9007199254740993}`, `{"n":9007199254740992}`, false, false,
		},
		"an integer and the fraction that comes next to it": {
			`{"f:n":{}}`, `{"n":9007199254740993}`, `{"n":9007199254740992.0}`, false, false,
		},
		"the largest integer is no fraction": {
			`{"f:n":{}}`, `{"n":9223372036854775807}`, `{"n":9223372036854775808}`, false, false,
		},
		"fractions are compared": {
			`{"f:n":{}}`, `{"n":1.5}`, `{"n":1}`, false, false,
		},
		"a number is no text": {
			`{"f:n":{}}`, `{"n":1}`, `{"n":"1"}`, false, false,
		},
		"items with large keys are told apart": {
			`{"f:l":{"k:{\"id\":9007199254740993}":{".":{},"f:id":{}}}}`, `{"l":[{"id":9007199254740993}]}`, `{"l":[{"id":9007199254740992}]}`, false, false,
		},
		"and so are items of a set": {
			`{"f:l":{"v:9007199254740993":{}}}`, `{"l":[9007199254740993]}`, `{"l":[9007199254740992]}`, false, false,
		},
		"another value": {
			`{"f:state":{}}`, `{"state":"b"}`, `{"state":"a"}`, false, false,
		},
		"fields of others do not matter": {
			`{"f:state":{}}`, `{"state":"a"}`, `{"state":"a","foreign":1}`, true, false,
		},
		"a field that the template dropped is still ours": {
			`{"f:state":{},"f:old":{}}`, `{"state":"a"}`, `{"state":"a","old":1}`, true, true,
		},
		"an atomic list is compared whole, in order": {
			`{"f:list":{}}`, `{"list":["a","b"]}`, `{"list":["b","a"]}`, false, false,
		},
		"a list of objects without keys is compared whole": {
			`{"f:list":{}}`, `{"list":[{"a":1}]}`, `{"list":[{"a":1,"b":2}]}`, false, false,
		},
		"conditions are found by type; those of others do not matter": {
			"{" + conditions + "}", `{"conditions":[{"type":"Ready","status":"True"}]}`,
			`{"conditions":[{"type":"Other","status":"True"},{"type":"Ready","status":"True"}]}`, true, false,
		},
		"a condition changed": {
			"{" + conditions + "}", `{"conditions":[{"type":"Ready","status":"False"}]}`,
			`{"conditions":[{"type":"Ready","status":"True"}]}`, false, false,
		},
		"a condition is new": {
			"{" + conditions + "}", `{"conditions":[{"type":"Ready","status":"True"},{"type":"More","status":"True"}]}`,
			`{"conditions":[{"type":"Ready","status":"True"}]}`, false, false,
		},
		"a condition that we own is no longer wanted": {
			"{" + conditions + "}", `{"conditions":[]}`, `{"conditions":[{"type":"Ready","status":"True"}]}`, true, true,
		},
	} {
		t.Run(why, func(t *testing.T) {
			owned, content, current := set(t, row.set), data(t, row.content), data(t, row.current)
			if got := owned.Same(content, current); got != row.same {
				t.Errorf("same = %v, want %v", got, row.same)
			}
			if got := owned.Exceeds(content); got != row.exceeds {
				t.Errorf("exceeds = %v, want %v", got, row.exceeds)
			}
		})
	}
}

func TestExtractKeepsOwnedFields(t *testing.T) {
	owned := set(t, `{"f:state":{},"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:type":{},"f:status":{}}}}`)
	current := data(t, `{"state":"a","foreign":1,"conditions":[{"type":"Other","status":"True"},{"type":"Ready","status":"True","foreign":2}]}`)
	want := data(t, `{"state":"a","conditions":[{"type":"Ready","status":"True"}]}`)
	if diff := cmp.Diff(want, owned.Extract(current)); diff != "" {
		t.Errorf("extract (-want +got):\n%s", diff)
	}
}

func TestInvalidJSONEqualsNothing(t *testing.T) {
	if sameJSON("{", nil) || !sameJSON("null", nil) || !sameJSON("1", int64(1)) {
		t.Error("an item is found by what is no JSON, or not by what is")
	}
}

func TestNumbersAreComparedByValue(t *testing.T) {
	for _, row := range []struct {
		n    int64
		f    float64
		want bool
	}{
		{math.MinInt64, -1 << 63, true}, {math.MaxInt64, 1 << 63, false}, {0, math.Inf(1), false}, {math.MinInt64, math.Inf(-1), false},
		{math.MinInt64, 1 << 63, false}, {math.MinInt64, -1 << 64, false}, {1, 1, true}, {1, 1.5, false}, {1, 2, false}, {1<<53 + 1, 1 << 53, false},
	} {
		if got := sameNumber(row.n, row.f); got != row.want {
			t.Errorf("%d and %g: %v, want %v", row.n, row.f, got, row.want)
		}
	}
}

func TestInvalidKeysMatchNoItem(t *testing.T) {
	if hasKeys("{", map[string]any{}) || hasKeys("{}", "text") {
		t.Error("an item is found by what is no key")
	}
}
