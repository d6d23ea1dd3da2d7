package e2e

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

var crdEdits = flag.Int("crd-edits", 10, "number of random edits of spec.crd")

// shapes are fields in short form, each with valid values.
var shapes = []struct {
	short  string
	values []any
}{
	{`string`, []any{"a", "b", "c"}},
	{`string | enum="a,b"`, []any{"a", "b"}},
	{`string | pattern="^a"`, []any{"a", "ab"}},
	{`string | required=true`, []any{"a", "b"}},
	{`string | required=true default="b"`, []any{"b", "c"}},
	{`integer`, []any{int64(1), int64(4), int64(9)}},
	{`integer | maximum=5`, []any{int64(1), int64(4)}},
	{`integer | minimum=3 default=3`, []any{int64(3), int64(9)}},
	{`boolean`, []any{true, false}},
	{`[]string`, []any{[]any{}, []any{"a"}, []any{"a", "a"}}},
	{`[]string | uniqueItems=true`, []any{[]any{"a", "b"}}},
	{`[]integer`, []any{[]any{int64(1)}, []any{int64(1), int64(2)}}},
	{`map[string]string`, []any{map[string]any{"k1": "a"}, map[string]any{"k1": "a", "k2": "b"}}},
	{`map[string]integer`, []any{map[string]any{"k1": int64(1)}}},
	{`{x: string, z: integer}`, []any{map[string]any{"x": "a"}, map[string]any{"x": "a", "z": int64(9)}}},
	{`{x: string, z: "integer | maximum=5"}`, []any{map[string]any{"z": int64(2)}}},
	{`{x: "string | required=true"}`, []any{map[string]any{"x": "a"}}},
}

// schemaOf returns spec.crd for fields: an index of shapes for each name.
func schemaOf(fields map[string]int) string {
	var b strings.Builder
	b.WriteString("crd: {schema: {spec: {")
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			b.WriteString(", ")
		}
		short := shapes[fields[name]].short
		if short[0] != '{' {
			short = "'" + short + "'"
		}
		b.WriteString(name + ": " + short)
	}
	b.WriteString("}}}")
	return b.String()
}

// edited returns the fields after a random edit: one is added, removed or replaced.
func edited(r *rand.Rand, fields map[string]int) map[string]int {
	next := maps.Clone(fields)
	names := slices.Sorted(maps.Keys(fields))
	switch name := names[r.IntN(len(names))]; {
	case r.IntN(2) == 0 && len(names) < 6:
		next[fmt.Sprint("f", r.IntN(100))] = r.IntN(len(shapes))
	case r.IntN(3) == 0 && len(names) > 2:
		delete(next, name)
	default:
		next[name] = r.IntN(len(shapes))
	}
	return next
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	listIndex    = regexp.MustCompile(`\[\d+\]`)
	mapKey       = regexp.MustCompile(`\.k\d\b`)
)

// refusals returns the paths that the API server complains about if the object is created.
func refusals(t *testing.T, in dynamic.ResourceInterface, o *unstructured.Unstructured) (paths []string) {
	t.Helper()
	for _, validation := range []string{metav1.FieldValidationStrict, metav1.FieldValidationIgnore} {
		_, err := in.Create(t.Context(), o, metav1.CreateOptions{DryRun: dryRun, FieldValidation: validation})
		status, _ := errors.AsType[*apierrors.StatusError](err)
		switch {
		case err == nil:
			continue
		case status == nil || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
			t.Fatal(err)
		}
		for _, m := range unknownField.FindAllStringSubmatch(err.Error(), -1) {
			paths = append(paths, m[1])
		}
		if status.ErrStatus.Details != nil {
			for _, cause := range status.ErrStatus.Details.Causes {
				paths = append(paths, cause.Field)
			}
		}
	}
	for i := range paths {
		paths[i] = mapKey.ReplaceAllString(listIndex.ReplaceAllString(paths[i], "[*]"), ".*")
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// TestRandomSchemaEdits makes random edits of spec.crd while objects are stored. The API server decides independently which objects the new
// schema breaks: a second kind has that schema.
func TestRandomSchemaEdits(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.apply(strings.ReplaceAll(crdRights, "@user", operatorOf(t)))
	s.waitAllowed(operatorOf(t), authorizationv1.ResourceAttributes{Group: definitions.Group, Resource: definitions.Resource, Verb: "create"})
	startOperator(t)
	seed := uint64(metav1.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	const head = `watch: {apiVersion: "@group/v1", kind: Website}
children: [{name: none, template: "{{/* none */}}"}]
`
	fields := map[string]int{"a": 0, "b": 5, "c": 14}
	s.own(definitions, s.expand("websites.@group"))
	s.controller(head + schemaOf(fields))
	websites := s.in(s.resource("websites"))
	fill := func() {
		for i := range 3 {
			spec := map[string]any{}
			for name, shape := range fields {
				if values := shapes[shape].values; r.IntN(2) > 0 || strings.Contains(shapes[shape].short, "required=true") {
					spec[name] = values[r.IntN(len(values))]
				}
			}
			name := fmt.Sprint("w", i)
			_ = websites.Delete(t.Context(), name, metav1.DeleteOptions{})
			waitGone(t, websites, name)
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.group + "/v1", "kind": "Website", "metadata": map[string]any{"name": name}, "spec": spec}}
			eventually(t, soon, func() error { // the API server may still use the previous schema
				_, err := websites.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
				return err
			})
		}
	}
	fill()
	applied, refused := 0, 0
	for i := range *crdEdits {
		next := edited(r, fields)
		broken := s.brokenBy(i, head+schemaOf(next))
		s.applyController("@id", head+schemaOf(next))
		if len(broken) == 0 {
			s.crdReady("True", "Established")
			applied++
			fields = next
			for _, o := range s.list(websites, "") {
				eventually(t, soon, func() error {
					if _, err := websites.Update(t.Context(), &o, metav1.UpdateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}); err != nil {
						return fmt.Errorf("edit %d: after %s: %w", i, schemaOf(next), err)
					}
					return nil
				})
			}
			fill()
			continue
		}
		refused++
		message, found := s.crdReady("False", "BreakingChange"), 0
		for _, path := range broken {
			if strings.Contains(message, path+" ") {
				found++
			}
		}
		if found < min(len(broken), 3) { // a message names at most three
			t.Errorf("edit %d: after %s: the refusal does not name %v: %s", i, schemaOf(next), broken, message)
		}
		s.applyController("@id", head+schemaOf(fields))
		s.crdReady("True", "Established")
	}
	t.Logf("%d edits were applied, %d refused", applied, refused)
	if *crdEdits >= 10 && (applied == 0 || refused == 0) {
		t.Error("the edits prove little")
	}
}

// brokenBy returns the paths in stored Websites that a TemplateController's new schema breaks.
func (s *scope) brokenBy(number int, spec string) (paths []string) {
	s.t.Helper()
	file := s.controllerFile(spec)
	out, code := s.templater("crd", file)
	if code != 0 {
		s.t.Fatalf("templater crd: %s", out)
	}
	twin := strings.NewReplacer("kind: Website\n", fmt.Sprintf("kind: Twin%d\n", number), "WebsiteList", fmt.Sprintf("Twin%dList", number), "websites", fmt.Sprintf("twin%ds", number), "singular: website", fmt.Sprintf("singular: twin%d", number)).Replace(out)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(twin), &o.Object); err != nil {
		s.t.Fatal(err)
	}
	if err := s.applyObject(o); err != nil {
		s.t.Fatalf("%v\n%s", err, twin)
	}
	twins := s.in(s.resource(fmt.Sprintf("twin%ds", number)))
	for _, website := range s.list(s.in(s.resource("websites")), "") {
		again := &unstructured.Unstructured{Object: map[string]any{"apiVersion": s.group + "/v1", "kind": fmt.Sprintf("Twin%d", number), "metadata": map[string]any{"name": website.GetName()}, "spec": website.Object["spec"]}}
		paths = append(paths, refusals(s.t, twins, again)...)
	}
	s.delete(env.client.Resource(definitions), o.GetName())
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { // what is below a value of another type has no schema
		return slices.ContainsFunc(paths, func(above string) bool {
			return strings.HasPrefix(path, above+".") || strings.HasPrefix(path, above+"[")
		})
	})
}
