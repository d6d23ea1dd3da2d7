package child

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// mayWrite says what happens to a metadata field that a template sets.
type mayWrite int

const (
	kept    mayWrite = iota // unchanged
	dropped                 // because manifests that were read from an API server contain it
	refused
)

// metadataFields has every field of metadata, by its JSON name, and what happens if a template sets it. data is whether values may supply the
// field, as they may for labels and annotations.
var metadataFields = map[string]struct {
	value  any
	author mayWrite
	data   bool
}{
	"name":                       {"x", kept, false},
	"namespace":                  {"default", kept, false},
	"labels":                     {map[string]any{"a": "b"}, kept, true},
	"annotations":                {map[string]any{"a": "b"}, kept, true},
	"finalizers":                 {[]any{"example.org/a"}, kept, false},
	"creationTimestamp":          {"2020-01-01T00:00:00Z", dropped, false},
	"generateName":               {"x-", refused, false},
	"ownerReferences":            {[]any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}}, refused, false},
	"uid":                        {"u", refused, false},
	"resourceVersion":            {"1", refused, false},
	"generation":                 {int64(1), refused, false},
	"selfLink":                   {"/x", refused, false},
	"deletionTimestamp":          {"2020-01-01T00:00:00Z", refused, false},
	"deletionGracePeriodSeconds": {int64(0), refused, false},
	"managedFields":              {[]any{map[string]any{"manager": "x"}}, refused, false},
}

// TestEveryMetadataFieldIsClassified sets every field of ObjectMeta in a template, and from a value.
func TestEveryMetadataFieldIsClassified(t *testing.T) {
	for field := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		row, known := metadataFields[name]
		if !known {
			t.Errorf("metadata.%s is new: decide who may write it", name)
			continue
		}
		authorWrites(t, name, row.value, row.author)
		for why, template := range map[string]string{
			"a printed mapping":          "metadata: {{ .spec.meta }}",
			"a mapping on several lines": "metadata:\n  {{- toYaml .spec.meta | nindent 2 }}",
			"beside a name":              "metadata:\n  n: x\n  {{- toYaml .spec.meta | nindent 2 }}",
			"a loop":                     "metadata:\n  {{- range $k, $v := .spec.meta }}\n  \"{{ $k }}\": {{ $v }}\n  {{- end }}",
			"a part of a key":            "metadata:\n  {{- range $k, $v := .spec.meta }}\n  {{ substr 0 1 $k }}{{ substr 1 99 $k }}: {{ $v }}\n  {{- end }}",
			"a merged mapping":           "x: &m {{ .spec.meta }}\nmetadata: {<<: *m}",
			"an alias":                   "x: &m {{ .spec.meta }}\nmetadata: *m",
			"all of the object":          "{{ toYaml .spec.object }}",
		} {
			allowed := row.data && why != "all of the object"
			if err := valueSupplies(t, template, map[string]any{name: row.value}); (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "a key printed from a value ") {
				t.Errorf("metadata.%s from %s: %v", name, why, err)
			}
		}
	}
	if err := valueSupplies(t, "metadata: {{ .spec.meta }}", map[string]any{"newField": "x"}); err == nil || strings.Contains(err.Error(), "newField") {
		t.Errorf("a field that is not known yet: %v", err)
	}
}

// authorWrites checks what happens to a field that a template sets.
func authorWrites(t *testing.T, name string, value any, want mayWrite) {
	t.Helper()
	metadata := map[string]any{"name": "x", name: value}
	fault := shapeFault(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
	switch _, there := metadata[name]; {
	case (fault != "") != (want == refused), want == refused && !strings.Contains(fault, "metadata."+name+" must not be set"):
		t.Errorf("metadata.%s is written: %q", name, fault)
	case want == kept && !there, want == dropped && there:
		t.Errorf("metadata.%s is written, and then: %v", name, there)
	}
}

func TestNullServerFieldsAreDropped(t *testing.T) {
	for name, row := range metadataFields {
		if row.author != kept {
			authorWrites(t, name, nil, dropped)
		}
	}
}

// valueSupplies renders an object with metadata from a value.
func valueSupplies(t *testing.T, template string, meta map[string]any) error {
	t.Helper()
	p, err := render.Compile(render.Source{Children: []syntax.Template{{Name: "x", Text: "apiVersion: v1\nkind: A\n" + template}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Child("x", &render.Input{Parent: map[string]any{"spec": map[string]any{"meta": meta, "object": map[string]any{"metadata": meta}}}})
	return err
}
