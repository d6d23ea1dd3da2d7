package store

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/object"
)

// distinct returns about that many bytes of different texts.
func distinct(format string, bytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestTrimmedTemplateControllerSizeIsBounded fills each part of a TemplateController that an author can write, up to
// the maximum object size.
func TestTrimmedTemplateControllerSizeIsBounded(t *testing.T) {
	const length, copies, most = 1_300_000, 4, 36 << 10
	metadata := func(format string) string { return `,` + fmt.Sprintf(format, distinct(`"k%d":"v",`, length)+`"a":"b"`) }
	list := func(key, format string) string {
		return `,"` + key + `":[` + strings.TrimSuffix(distinct(format+",", length), ",") + `]`
	}
	const foreign = `,"className":"nobody"`
	template := `,"children":[{"name":"a","template":"` + strings.Repeat("x", length) + `"}]`
	for why, row := range map[string]struct{ metadata, watch, spec string }{
		"templates":                         {spec: template},
		"templates of another installation": {spec: template + foreign},
		"templates of one that is deleted":  {`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, "", template},
		"helpers":                           {spec: `,"helpers":"` + strings.Repeat("x", length) + `"`},
		"values":                            {spec: `,"values":{"a":[` + strings.Repeat("1,", length/2) + `1]}`},
		"labels":                            {metadata: metadata(`"labels":{%s}`)},
		"annotations":                       {metadata: metadata(`"annotations":{%s}`)},
		"owner references":                  {metadata: list("ownerReferences", `{"apiVersion":"v1","kind":"Pod","name":"a","uid":"%d"}`)},
		"finalizers":                        {metadata: list("finalizers", `"example.org/f%d"`)},
		"fields of managers":                {metadata: list("managedFields", `{"manager":"templater/a","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a%d":{}}}}`)},
		"selectors":                         {watch: `,"labelSelector":{"matchExpressions":[` + strings.TrimSuffix(distinct(`{"key":"a%d","operator":"Exists"},`, length), ",") + `]}`},
		"selectors of related objects":      {spec: `,"related":[{"apiVersion":"v1","kind":"Pod","name":"a","labelSelector":{"matchLabels":{` + distinct(`"k%d":"v",`, length) + `"a":"b"}}}]`},
		"what entries depend on":            {spec: `,"children":[{"name":"a","template":"a","dependsOn":[` + strings.TrimSuffix(distinct(`"d%d",`, length), ",") + `]}]`},
	} {
		t.Run(why, func(t *testing.T) {
			text := []byte(`{"apiVersion":"templater.dev/v1","kind":"TemplateController","metadata":{"name":"a","uid":"u","resourceVersion":"7","generation":3` + row.metadata +
				`},"spec":{"watch":{"apiVersion":"example.org/v1","kind":"App"` + row.watch + `}` + row.spec + `},"status":{"className":""}}`)
			before := heap()
			var kept [copies]*object.Object
			for i := range kept {
				whole, err := object.Decode(bytes.ReplaceAll(text, []byte("templater/a"), []byte(fmt.Sprint("templater/", i)))) // identical managed fields are stored once
				if err != nil {
					t.Fatal(err)
				}
				if kept[i], err = Trim(whole, nil); err != nil {
					t.Fatal(err)
				}
			}
			if held := int(heap()-before) / copies; held > most {
				t.Errorf("%d bytes are kept of %d, want at most %d", held, len(text), most)
			}
			tc, err := Decode(kept[0])
			if err != nil {
				t.Fatal(err)
			}
			if tc.Name != "a" || tc.UID != "u" || tc.ResourceVersion != "7" || tc.Generation != 3 || tc.Status.ClassName == nil || tc.Spec.Watch.Kind != "App" {
				t.Errorf("kept is %+v", tc)
			}
			runtime.KeepAlive(kept)
			runtime.KeepAlive(text)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestTrimKeepsSmallTemplateController: numbers are kept as written.
func TestTrimKeepsSmallTemplateController(t *testing.T) {
	const text = `{"apiVersion":"templater.dev/v1","kind":"TemplateController","metadata":{"name":"a","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["a/b"]},` +
		`"spec":{"values":{"a":1.0,"b":123456789012345678901234567890},"helpers":"é\n\"\\u2028"},"status":{"observedGeneration":4}}`
	whole, err := object.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Trim(whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, kept.JSON()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
