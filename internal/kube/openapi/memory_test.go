//go:build !race

package openapi

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// written returns the schema of a type, with references inlined.
func written(t *Type) apiextensionsv1.JSONSchemaProps {
	keep := true
	switch {
	case t == nil || t.Kinds == 0:
		return apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &keep}
	case t.Kinds&List != 0:
		items := written(t.Items)
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
	case t.Fields != nil:
		s := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
		for name, f := range t.Fields {
			if name == "initContainers" || name == "ephemeralContainers" { // the same as containers; skipped for speed
				continue
			}
			s.Properties[name] = written(f.Type)
		}
		return s
	case t.Kinds&Map != 0:
		more := written(t.Items)
		return apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &more}}
	case t.Kinds&String != 0:
		return apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	return apiextensionsv1.JSONSchemaProps{Type: "integer"}
}

// copies is a server whose kinds are copies of one kind, with a shared text.
type copies struct{ *server }

func (c copies) Read(ctx context.Context, path string, most int64) ([]byte, error) {
	if _, err := c.server.Read(ctx, path, most); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(path, definitionPath), "s.")
	kind := "K" + name[1:]
	return []byte(strings.ReplaceAll(c.texts[definitionPath+"templates.example.org"], `"Template"`, `"`+kind+`"`)), nil
}

func numbered(i int) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)}
}

// There is one kind for each of 500 TemplateControllers. The kinds are as large as they get in practice, with a Pod template.
func TestCacheOfManyLargeKindsIsBounded(t *testing.T) {
	const kinds, bound = 500, 30 << 20
	pod, _ := BuiltIn().Lookup(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	spec := written(pod)
	s := &server{}
	c := s.cache()
	for i := range kinds {
		s.define(t, numbered(i).Kind, "size", 1)
	}
	s.defineAs(t, "Template", 1, &spec)
	c.Reader = copies{s}
	before := heap()
	for i := range kinds {
		if found, _ := c.Lookup(numbered(i)); found == nil {
			t.Fatalf("nothing known of kind %d", i)
		}
		c.Lookup(numbered(0)) // recently used all the time
	}
	after := heap()
	held := 0
	for _, source := range c.sources {
		if source.bytes > 0 {
			held++
		}
	}
	t.Logf("%d of %d kinds in %.1f MiB of heap; said are %.1f MiB", held, kinds, float64(after-before)/(1<<20), float64(c.bytes)/(1<<20))
	if after > before+bound {
		t.Errorf("they take %d bytes, want at most %d", after-before, bound)
	}
	if c.bytes > maxTypeBytes {
		t.Errorf("%d bytes are held, want at most %d", c.bytes, maxTypeBytes)
	}
	s.requests()
	for i, known := range map[int]bool{0: true, kinds - 1: true, 1: false} {
		if c.Lookup(numbered(i)); (len(s.requests()) == 0) != known {
			t.Errorf("kind %d: known %v, want %v", i, !known, known)
		}
	}
	runtime.KeepAlive(c)
}

func TestBuiltInKindsAreSmall(t *testing.T) {
	const most = 2 << 20
	if len(builtInText) > most {
		t.Errorf("they take %d bytes of the program, want at most %d", len(builtInText), most)
	}
	before := heap()
	set, err := unpack(builtInText)
	if err != nil {
		t.Fatal(err)
	}
	after := heap()
	t.Logf("%d bytes compressed, %d kinds, %.1f MiB of heap", len(builtInText), len(set.byKind), float64(after-before)/(1<<20))
	if after-before > 4<<20 {
		t.Errorf("they hold %d bytes, want at most 4 MiB", after-before)
	}
	runtime.KeepAlive(set)
}

// CLI commands, or an aggregated API server, may have a document of many custom kinds.
func TestReadingLargeDocumentUsesBoundedMemory(t *testing.T) {
	const kinds, fields = 400, 600
	properties := strings.Repeat(`,"f%d":{"type":"string"}`, fields)[1:]
	numbers := make([]any, fields)
	for i := range numbers {
		numbers[i] = i
	}
	all := make([]string, kinds)
	for i := range all {
		all[i] = fmt.Sprintf(`"org.example.Kind%d":{"type":"object","properties":{"spec":{"type":"object","properties":{%s}}}}`, i, fmt.Sprintf(properties, numbers...))
	}
	text := []byte(`{"components":{"schemas":{` + strings.Join(all, ",") + `}}}`)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // measure live memory, not garbage
	before := heap()
	var most uint64
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	_, err := FromOpenAPI(text)
	close(done)
	<-sampled
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("reading %.1f MiB took up to %.1f MiB", float64(len(text))/(1<<20), float64(most-min(most, before))/(1<<20))
	if most > before+10*uint64(len(text)) {
		t.Errorf("it took %d bytes, want at most ten times %d", most-before, len(text))
	}
}

func TestSizeOfMatchesHeapUsage(t *testing.T) {
	for name, read := range map[string]func() Set{
		"a large custom kind": func() Set { return FromCRD(podKind(t)) },
		"the built-in kinds": func() Set {
			set, err := unpack(builtInText)
			if err != nil {
				t.Fatal(err)
			}
			return set
		},
	} {
		const many = 8
		var sets [many]Set
		before := heap()
		for i := range sets {
			sets[i] = read()
		}
		took := float64(heap()-before) / many
		said := float64(sizeOf(sets[0]))
		t.Logf("%s: %.0f bytes, said are %.0f", name, took, said)
		if said < took*0.7 || said > took*1.5 {
			t.Errorf("%s takes %.0f bytes, said are %.0f", name, took, said)
		}
		runtime.KeepAlive(sets)
	}
	if got := sizeOf(Join()); got != 0 {
		t.Errorf("another Set: %d, want 0", got)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
