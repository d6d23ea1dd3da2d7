package e2e

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/openapi"
)

// published returns the OpenAPI schema that the server publishes for a group version.
func published(t *testing.T, gv gvk.GroupVersion) (openapi.Set, error) {
	t.Helper()
	at := "/openapi/v3/apis/" + gv.String()
	if gv.Group == "" {
		at = "/openapi/v3/api/" + gv.Version
	}
	text, err := env.clientset.Discovery().RESTClient().Get().AbsPath(at).SetHeader("Accept", "application/json").DoRaw(t.Context())
	if err != nil {
		return nil, err
	}
	return openapi.FromOpenAPI(text)
}

// renamed are fields of alpha features that have another name in the release of the built-in schemas than in that of
// the server.
var renamed = []string{
	"ResourceSlice.spec.devices[].nodeAllocatableResourceMappings",
	"Pod.status.nodeAllocatableResourceClaimStatuses[].resources",
}

// The server is older than the built-in schemas. A unit test verifies that their additional fields exist in the Go
// types.
func TestBuiltInSchemasMatchAPIServer(t *testing.T) {
	parallel(t)
	_, lists, err := env.clientset.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, list := range lists {
		gv, err := gvk.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := openapi.BuiltIn().Lookup(gv.WithKind("None")); known {
			continue // of another group, with custom kinds only
		}
		set, err := published(t, gv)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			kind := gv.WithKind(resource.Kind)
			here, _ := set.Lookup(kind)
			known, _ := openapi.BuiltIn().Lookup(kind)
			if here == nil || known == nil {
				t.Errorf("%v: known of the server %v, built in %v", kind, here != nil, known != nil)
				continue
			}
			compared++
			difference(t, kind.Kind, here, known, false, map[*openapi.Type]bool{})
			if _, has := known.Fields["metadata"].Type.Fields["namespace"]; has != resource.Namespaced {
				t.Errorf("%v has a namespace: %v, want %v", kind, has, resource.Namespaced)
			}
		}
	}
	t.Logf("compared %d kinds", compared)
	if compared < 50 {
		t.Errorf("compared %d kinds, want all", compared)
	}
}

// sameEnum reports whether two types have the same enum values or, if same is false, whether b has all values of a.
func sameEnum(a, b []string, same bool) bool {
	if same || len(a) == 0 || len(b) == 0 {
		return slices.Equal(a, b)
	}
	return !slices.ContainsFunc(a, func(value string) bool { return !slices.Contains(b, value) })
}

// difference reports fields of a that b lacks or that differ in b.
func difference(t *testing.T, path string, a, b *openapi.Type, same bool, seen map[*openapi.Type]bool) {
	if a == nil || b == nil || seen[a] {
		if (a == nil) != (b == nil) {
			t.Errorf("%s: %+v and %+v", path, a, b)
		}
		return
	}
	seen[a] = true
	if a.Kinds != b.Kinds || a.Open != b.Open || (a.Fields == nil) != (b.Fields == nil) || !sameEnum(a.Enum, b.Enum, same) {
		t.Errorf("%s: %+v and %+v", path, *a, *b)
	}
	for name, f := range a.Fields {
		other, ok := b.Fields[name]
		if !ok && !same && slices.Contains(renamed, path+"."+name) {
			continue
		}
		if !ok || same && f.Present != other.Present {
			t.Errorf("%s.%s: present %v, in the other one there %v and present %v", path, name, f.Present, ok, other.Present)
			continue
		}
		difference(t, path+"."+name, f.Type, other.Type, same, seen)
	}
	if same && len(a.Fields) != len(b.Fields) {
		t.Errorf("%s has %d fields, the other one %d", path, len(a.Fields), len(b.Fields))
	}
	difference(t, path+"[]", a.Items, b.Items, same, seen)
}

const palette = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: palettes.@group}
spec:
  group: "@group"
  scope: SCOPE
  names: {kind: Palette, plural: palettes}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          metadata: {type: object, properties: {name: {type: string, maxLength: 20}}}
          spec:
            type: object
            required: [name]
            properties:
              name: {type: string}
              color: {type: string, enum: [red, blue], default: red}
              port: {x-kubernetes-int-or-string: true}
              ratio: {type: number, nullable: true}
              nothing: {type: object}
              anything: {x-kubernetes-preserve-unknown-fields: true}
              some: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: integer}}}
              labels: {type: object, additionalProperties: {type: string}}
              object: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              known: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
              choice: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
              list: {type: array, items: {type: object, required: [x], properties: {x: {type: boolean}}}}
          status: {type: object, properties: {phase: {type: string}}}
`

// The published schema of a custom kind is equivalent to its CRD.
func TestCRDSchemaMatchesPublishedOpenAPI(t *testing.T) {
	parallel(t)
	for _, scope := range []string{"Namespaced", "Cluster"} {
		s := newScope(t)
		s.apply(strings.Replace(palette, "SCOPE", scope, 1))
		kind := gvk.GroupVersionKind{Group: s.group, Version: "v1", Kind: "Palette"}
		var there *openapi.Type
		eventually(t, soon, func() error {
			set, err := published(t, kind.GroupVersion())
			if err != nil {
				return err
			}
			if there, _ = set.Lookup(kind); there == nil {
				return errors.New("the server does not publish it")
			}
			return nil
		})
		found, err := env.client.Resource(definitions).Get(t.Context(), "palettes."+s.group, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		here, _ := openapi.FromCRD(&definition).Lookup(kind)
		difference(t, scope, there, here, true, map[*openapi.Type]bool{})
		difference(t, scope, here, there, true, map[*openapi.Type]bool{})
	}
}
