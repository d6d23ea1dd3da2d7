package openapi

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FromCRD returns the types of a custom kind in all served versions. Other versions of the kind do not exist; other kinds are
// unknown.
func FromCRD(definition *apiextensionsv1.CustomResourceDefinition) Set {
	spec := definition.Spec
	gk := schema.GroupKind{Group: spec.Group, Kind: cmp.Or(definition.Status.AcceptedNames.Kind, spec.Names.Kind)}
	in := clusterScoped
	if spec.Scope == apiextensionsv1.NamespaceScoped {
		in = namespaced
	}
	set := &readSet{
		byKind: map[schema.GroupVersionKind]*Type{},
		whole:  func(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == gk },
	}
	r := &reader{structural: true, sharer: newSharer()}
	for i := range spec.Versions {
		version := &spec.Versions[i]
		if !version.Served {
			continue
		}
		gvk := gk.WithVersion(version.Name)
		var t *Type
		// Non-structural schemas only validate: the server keeps fields that are not in the schema.
		if version.Schema != nil && !spec.PreserveUnknownFields {
			t = r.read(version.Schema.OpenAPIV3Schema, 0)
		}
		set.byKind[gvk] = whole(t, gvk, objectMeta[in][true])
	}
	return set
}

// builtInText is the compressed OpenAPI document of all built-in kinds. `make generate` writes it.
//
//go:embed builtin.json.gz
var builtInText []byte

// BuiltIn returns the built-in kinds, in all versions of the Kubernetes release in go.mod, whether or not they are served by
// default. Other kinds in these groups do not exist in this Set, although an older or newer server may have them. It is parsed on
// first use, which takes milliseconds, and then takes about 1 MiB of memory.
func BuiltIn() Set { return builtIn{} }

type builtIn struct{}

func (builtIn) Lookup(gvk schema.GroupVersionKind) (*Type, bool) { return readBuiltIn().Lookup(gvk) }

var readBuiltIn = sync.OnceValue(func() *readSet {
	set, err := unpack(builtInText)
	if err != nil {
		panic(fmt.Sprintf("the schemas of the built-in kinds: %v", err)) // the schemas are embedded in the binary
	}
	groups := map[string]bool{}
	for gvk := range set.byKind {
		groups[gvk.Group] = true
	}
	set.whole = func(gvk schema.GroupVersionKind) bool { return groups[gvk.Group] }
	return set
})

func unpack(packed []byte) (*readSet, error) {
	text, err := gunzip(packed)
	if err != nil {
		return nil, err
	}
	return fromOpenAPI(text, true)
}

func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
