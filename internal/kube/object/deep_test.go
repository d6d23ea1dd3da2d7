package object

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// nested returns an object of that depth. The API server accepts at most 10,000.
func nested(name string, depth int) string {
	return fmt.Sprintf(`{"kind":"A","metadata":{"name":%q,"resourceVersion":"6"},"spec":%s"]["%s}`, name, strings.Repeat("[", depth-1), strings.Repeat("]", depth-1))
}

func TestWatchDeliversObjectsOfAnyDepth(t *testing.T) {
	const added, torn = `{"type":"ADDED","object":{"kind":"A","metadata":{"name":"a","resourceVersion":"5"}}}`, `{"type":"ADDED","object":{`
	for depth := 9_980; depth <= 10_000; depth++ {
		deep := `{"type":"MODIFIED","object":` + nested("deep", depth) + "}"
		body := added + "\n" + deep + "\n" + added + deep + deep + torn
		var got []string
		for e := range stream(iotest.HalfReader(strings.NewReader(body))).ResultChan() {
			got = append(got, text(e))
		}
		want := []string{"ADDED /a@5 map[]", "MODIFIED /deep@6 map[]", "ADDED /a@5 map[]", "MODIFIED /deep@6 map[]", "MODIFIED /deep@6 map[]"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("depth %d: events (-want +got):\n%s", depth, diff)
		}
	}
}

func TestListHoldsObjectsOfAnyDepth(t *testing.T) {
	for depth := 9_980; depth <= 10_000; depth++ {
		body := `{"kind":"AList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"next"},"items":[{"metadata":{"name":"a"}},` + nested("deep", depth) + `,{"metadata":{"name":"b"}}]}`
		o, _, err := serializer{}.Decode([]byte(body), nil, nil)
		if err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		if got, want := answerText(o), "list 9 next: v1 A a,  A deep, v1 A b"; got != want {
			t.Errorf("depth %d: got %q, want %q", depth, got, want)
		}
	}
}

func TestDeepTextThatIsNotJSONIsRefused(t *testing.T) {
	deep := nested("deep", 10_000)
	for why, body := range map[string]string{
		"a list without its end":          `{"kind":"AList","items":[` + deep + `]`,
		"items without their end":         `{"kind":"AList","items":[` + deep,
		"items without a comma":           `{"kind":"AList","items":[` + deep + deep + `]}`,
		"an item that is not JSON":        `{"kind":"AList","items":[` + deep + `,{"a":}]}`,
		"an item without its end":         `{"kind":"AList","items":[` + deep + `,{"a":1]}`,
		"a list with something behind it": `{"kind":"AList","items":[` + deep + `]}x`,
		"no list":                         `{"kind":"A","spec":[[` + deep + `]]}`,
	} {
		t.Run(why, func(t *testing.T) {
			if o, _, err := (serializer{}).Decode([]byte(body), nil, nil); err == nil {
				t.Errorf("it is taken for %s", answerText(o))
			}
			for e := range stream(strings.NewReader(`{"type":"ADDED","object":` + body + "}")).ResultChan() {
				if _, isObject := e.Object.(*Object); isObject {
					t.Errorf("the watch takes it for %s", text(e))
				}
			}
		})
	}
}
