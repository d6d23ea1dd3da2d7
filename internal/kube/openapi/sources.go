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

// FromCRD returns the types of a kind, in all versions that its definition serves. It knows that there are no others,
// and of other kinds nothing.
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
		// Before they were structural, schemas could only forbid: the server keeps what they do not name.
		if version.Schema != nil && !spec.PreserveUnknownFields {
			t = r.read(version.Schema.OpenAPIV3Schema, 0)
		}
		set.byKind[gvk] = whole(t, gvk, objectMeta[in][true])
	}
	return set
}

// builtInText is the OpenAPI document of all kinds that Kubernetes has itself, compressed. `make generate` writes it.
//
//go:embed builtin.json.gz
var builtInText []byte

// BuiltIn returns the kinds that Kubernetes has itself, in all versions of the release that go.mod names, be they
// served by default or not. It knows that the groups of these kinds hold no others, which a server that is older or
// newer may see in another way. It is read when it is asked for the first time, which takes milliseconds; then it holds
// about a MiB.
func BuiltIn() Set { return builtIn{} }

type builtIn struct{}

func (builtIn) Lookup(gvk schema.GroupVersionKind) (*Type, bool) { return readBuiltIn().Lookup(gvk) }

var readBuiltIn = sync.OnceValue(func() *readSet {
	set, err := unpack(builtInText)
	if err != nil {
		panic(fmt.Sprintf("the schemas of the built-in kinds: %v", err)) // they are part of the program
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
	return fromOpenAPI(text)
}

func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
