package schema

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

var readBuiltIn = sync.OnceValue(func() *types {
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

func unpack(packed []byte) (*types, error) {
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
