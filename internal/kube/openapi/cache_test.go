package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/object"
)

var errAway = errors.New("connection refused")

// server returns texts by path.
type server struct {
	mu      sync.Mutex
	texts   map[string]string
	hangs   bool
	asked   []string
	most    int64 // the largest size limit of all requests
	defined map[schema.GroupKind][]*object.Object
	again   []string
}

func (s *server) Read(ctx context.Context, path string, most int64) ([]byte, error) {
	s.mu.Lock()
	s.asked = append(s.asked, path)
	s.most = max(s.most, most)
	text, ok := s.texts[path]
	hangs := s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !ok {
		return nil, errAway
	}
	return []byte(text), nil
}

// requests returns the paths requested since the last call.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// calledAgain returns the kinds for which Again was called since the last call.
func (s *server) calledAgain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calledAgain := s.again
	s.again = nil
	slices.Sort(calledAgain)
	return calledAgain
}

func (s *server) cache() *Cache {
	return NewCache(CacheOptions{
		Reader: s, Clock: clock.RealClock{}, Logger: klog.Background(),
		Definitions: func(gk schema.GroupKind) []*object.Object {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.defined[gk]
		},
		Serve: func(gv schema.GroupVersion) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			for gk, all := range s.defined {
				if gk.Group == gv.Group && gv.Version == "v1" && len(all) > 0 {
					return true
				}
			}
			return false
		},
		Again: func(gk schema.GroupKind) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.again = append(s.again, gk.Kind)
		},
	})
}

const (
	appsPath = "/openapi/v3/apis/apps/v1?hash=1"
	apps     = `{"components":{"schemas":{
		"io.k8s.api.apps.v1.Deployment":{"type":"object","properties":{
			"metadata":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
			"spec":{"type":"object","properties":{"replicas":{"type":"integer"}}}},
			"x-kubernetes-group-version-kind":[{"group":"apps","version":"v1","kind":"Deployment"}]},
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":{"type":"object"}}}}`
)

func indexOf(paths ...string) string {
	var all []string
	for _, path := range paths {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "/openapi/v3/"), "?")
		all = append(all, fmt.Sprintf(`%q: {"serverRelativeURL": %q}`, name, path))
	}
	return `{"paths": {` + strings.Join(all, ",") + `}}`
}

// define adds a CustomResourceDefinition whose .spec has the field.
func (s *server) define(t testing.TB, kind, field string, generation int64) {
	t.Helper()
	s.defineAs(t, kind, generation, &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{field: {Type: "string"}}})
}

func (s *server) defineAs(t testing.TB, kind string, generation int64, spec *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": *spec}}
	definition := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.org", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root}}},
	}}
	definition.Name, definition.UID, definition.Generation = strings.ToLower(kind)+"s.example.org", types.UID(kind), generation
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(content, "spec", "versions") // not used by the Cache
	trimmed, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.defined == nil {
		s.defined, s.texts = map[schema.GroupKind][]*object.Object{}, map[string]string{}
	}
	s.defined[schema.GroupKind{Group: "example.org", Kind: kind}] = []*object.Object{trimmed}
	s.texts[definitionPath+definition.Name] = string(text)
}

func deployment() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
}

// fieldsOf returns the names of the fields of .spec, or "nothing".
func fieldsOf(set Set, gvk schema.GroupVersionKind) string {
	found, exists := set.Lookup(gvk)
	switch {
	case !exists:
		return "no such kind"
	case found == nil:
		return "nothing"
	}
	var names []string
	for name := range found.Fields["spec"].Type.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// pass advances the fake clock of a synctest bubble, and waits until its goroutines are blocked.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // fake clock
	synctest.Wait()
}

func expect(t *testing.T, why string, s *server, got, want string, requests ...string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", why, got, want)
	}
	if diff := cmp.Diff(requests, s.requests()); diff != "" {
		t.Errorf("%s: requests (-want +got):\n%s", why, diff)
	}
}

func TestPublishedDocumentsAreCachedByHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{texts: map[string]string{indexPath: indexOf(appsPath), appsPath: apps}}
		c := s.cache()
		expect(t, "first", s, fieldsOf(c, deployment()), "replicas", indexPath, appsPath)
		expect(t, "again", s, fieldsOf(c, deployment()), "replicas")
		expect(t, "a kind that the document does not have", s, fieldsOf(c, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Daemon"}), "no such kind")
		expect(t, "a version that the index does not have", s, fieldsOf(c, schema.GroupVersionKind{Group: "apps", Version: "v2", Kind: "Deployment"}), "nothing")

		pass(absentTTL)
		expect(t, "it may have it now", s, fieldsOf(c, schema.GroupVersionKind{Group: "apps", Version: "v2", Kind: "Deployment"}), "nothing", indexPath)
		pass(documentTTL)
		expect(t, "the same after a time", s, fieldsOf(c, deployment()), "replicas", indexPath)

		newer := "/openapi/v3/apis/apps/v1?hash=2"
		s.texts[indexPath], s.texts[newer] = indexOf(newer), strings.ReplaceAll(apps, "replicas", "copies")
		pass(documentTTL)
		expect(t, "another release", s, fieldsOf(c, deployment()), "copies", indexPath, newer)

		s.texts = nil
		pass(documentTTL)
		expect(t, "the server is away", s, fieldsOf(c, deployment()), "copies", indexPath)
		expect(t, "and not asked at once", s, fieldsOf(c, deployment()), "copies")
	})
}

func TestDocumentWithoutHashIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := "/openapi/v3/apis/apps/v1"
		s := &server{texts: map[string]string{indexPath: indexOf(path), path: apps}}
		c := s.cache()
		expect(t, "first", s, fieldsOf(c, deployment()), "replicas", indexPath, path)
		pass(documentTTL)
		expect(t, "after a time", s, fieldsOf(c, deployment()), "replicas", indexPath, path)
		s.texts[path] = "<html>"
		pass(documentTTL)
		expect(t, "no document any more", s, fieldsOf(c, deployment()), "replicas", indexPath, path)
	})
}

func TestCoreGroupDocumentIsRead(t *testing.T) {
	path := "/openapi/v3/api/v1?hash=1"
	s := &server{texts: map[string]string{indexPath: indexOf(path), path: strings.ReplaceAll(apps, `"apps"`, `""`)}}
	expect(t, "core", s, fieldsOf(s.cache(), schema.GroupVersionKind{Version: "v1", Kind: "Deployment"}), "replicas", indexPath, path)
}

func TestCustomKindSchemasFollowCRDChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.define(t, "Shop", "size", 1)
		path := definitionPath + "shops.example.org"
		c := s.cache()
		expect(t, "first", s, fieldsOf(c, shop), "size", path)
		pass(24 * time.Hour)
		expect(t, "again", s, fieldsOf(c, shop), "size")
		expect(t, "a version that is not served", s, fieldsOf(c, shop.GroupKind().WithVersion("v2")), "no such kind")

		anew := c.Anew(t.Context())
		expect(t, "to be sure", s, fieldsOf(anew, shop), "size", path)
		expect(t, "to be sure of another version", s, fieldsOf(anew, shop.GroupKind().WithVersion("v2")), "no such kind")

		s.define(t, "Shop", "area", 2)
		expect(t, "changed", s, fieldsOf(c, shop), "area", path)
		expect(t, "again", s, fieldsOf(c, shop), "area")

		s.define(t, "Shop", "price", 3)
		delete(s.texts, path)
		expect(t, "changed, and not to be read", s, fieldsOf(c, shop), "nothing", path)

		gk := shop.GroupKind()
		s.defined[gk] = append(s.defined[gk], s.defined[gk]...)
		expect(t, "two fight for the name", s, fieldsOf(c, shop), "nothing")

		delete(s.defined, gk)
		expect(t, "gone", s, fieldsOf(c, shop), "nothing", indexPath)
	})
}

func TestUnusableCRDsHaveNoSchema(t *testing.T) {
	for why, text := range map[string]string{
		"another form": `[]`,
		"too deep":     strings.Repeat("[", 10000),
	} {
		s := &server{}
		s.define(t, "Shop", "size", 1)
		s.texts[definitionPath+"shops.example.org"] = text
		expect(t, why, s, fieldsOf(s.cache(), shop), "nothing", definitionPath+"shops.example.org")
	}
}

func TestCacheWithoutCRDsReadsGroupDocument(t *testing.T) {
	path := "/openapi/v3/apis/example.org/v1?hash=1"
	s := &server{texts: map[string]string{indexPath: indexOf(path), path: strings.NewReplacer(`"apps"`, `"example.org"`, `"Deployment"`, `"Shop"`).Replace(apps)}}
	c := NewCache(CacheOptions{Reader: s, Clock: clock.RealClock{}, Logger: klog.Background()})
	expect(t, "a custom kind", s, fieldsOf(c, shop), "replicas", indexPath, path)
	delete(s.texts, path)
	c = NewCache(CacheOptions{Reader: s, Clock: clock.RealClock{}, Logger: klog.Background()})
	expect(t, "that cannot be read, and nobody wants to know", s, fieldsOf(c, shop), "nothing", indexPath, path)
}

// The document of a group version contains the schemas of all its custom kinds, which can be many.
func TestCustomKindLookupReadsNoGroupDocument(t *testing.T) {
	const document, list = "/openapi/v3/apis/example.org/v1?hash=1", "/apis/example.org/v1"
	nope := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Nope"}
	for name, test := range map[string]struct {
		list     string // the resource list of the group version
		want     string
		requests []string
	}{
		"no definition has the kind":                  {`{"resources": [{"kind": "Shop"}]}`, "no such kind", []string{list}},
		"only a subresource has it":                   {`{"resources": [{"name": "shops", "kind": "Shop"}, {"name": "shops/scale", "kind": "Nope"}]}`, "no such kind", []string{list}},
		"the list cannot be read":                     {"<html>", "nothing", []string{list}},
		"an APIService has it, or it is not seen yet": {`{"resources": [{"kind": "Shop"}, {"kind": "Nope"}]}`, "replicas", []string{list, indexPath, document}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.define(t, "Shop", "size", 1)
				s.texts[list], s.texts[indexPath] = test.list, indexOf(document)
				s.texts[document] = strings.NewReplacer(`"apps"`, `"example.org"`, `"Deployment"`, `"Nope"`).Replace(apps)
				c := s.cache()
				expect(t, "first", s, fieldsOf(c, nope), test.want, test.requests...)
				expect(t, "again", s, fieldsOf(c, nope), test.want)
			})
		})
	}
}

func TestDocumentReadsAreLimitedInSize(t *testing.T) {
	s := &server{texts: map[string]string{indexPath: indexOf(appsPath), appsPath: apps}}
	fieldsOf(s.cache(), deployment())
	if s.most != MaxDocumentBytes {
		t.Errorf("%d bytes, want %d", s.most, MaxDocumentBytes)
	}
	// CLI commands do not watch CustomResourceDefinitions, and read the documents of custom kinds.
	fieldsOf(NewCache(CacheOptions{Reader: s, Clock: clock.RealClock{}, Logger: klog.Background()}), deployment())
	if s.most != maxCustomRead {
		t.Errorf("%d bytes without definitions, want %d", s.most, maxCustomRead)
	}
}

func TestFailedReadIsRetriedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.define(t, "Shop", "size", 1)
		delete(s.texts, definitionPath+"shops.example.org")
		c := s.cache()
		expect(t, "forbidden, or away", s, fieldsOf(c, deployment())+fieldsOf(c, shop), "nothingnothing", indexPath, definitionPath+"shops.example.org")
		expect(t, "at once", s, fieldsOf(c, deployment()), "nothing")
		wait := minBackoff
		for range 3 {
			pass(wait - time.Second)
			expect(t, "too early", s, strings.Join(s.calledAgain(), " ")+fieldsOf(c, deployment()), "nothing")
			pass(time.Second)
			calledAgain := s.calledAgain()
			expect(t, fmt.Sprintf("after %v", wait), s, strings.Join(calledAgain, " "), "Deployment Shop")
			fieldsOf(c, deployment())
			fieldsOf(c, shop)
			expect(t, "asked again", s, "", "", indexPath, definitionPath+"shops.example.org")
			wait *= 2
		}
		s.texts = map[string]string{indexPath: indexOf(appsPath), appsPath: apps}
		pass(maxBackoff)
		s.calledAgain()
		expect(t, "it is back", s, fieldsOf(c, deployment()), "replicas", indexPath, appsPath)
		pass(maxBackoff)
		if calledAgain := s.calledAgain(); len(calledAgain) > 0 {
			t.Errorf("told %v, though all is known", calledAgain)
		}
	})
}

func TestLookupTimesOutOnHangingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{hangs: true}
		for i := range 20 {
			s.define(t, fmt.Sprintf("Kind%d", i), "size", 1)
		}
		c := s.cache()
		began := time.Now()
		for i := range 20 {
			fieldsOf(c, schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)})
		}
		if took := time.Since(began); took > lookupTimeout {
			t.Errorf("20 kinds took %v, want no more than %v", took, lookupTimeout)
		}
		if got := len(s.requests()); got != 1 {
			t.Errorf("%d requests, want one", got)
		}
		pass(minBackoff)
		if calledAgain := s.calledAgain(); len(calledAgain) != 20 {
			t.Errorf("told to ask again for %d, want all", len(calledAgain))
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if got := fieldsOf(c.Within(ctx), shop); got != "nothing" || time.Since(began) > time.Second {
			t.Errorf("got %s after %v, want nothing after a second", got, time.Since(began))
		}
	})
}

func TestLookupWaitingForSharedRequestTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{hangs: true}
		s.define(t, "Shop", "size", 1)
		c := s.cache()
		var all sync.WaitGroup
		all.Go(func() { fieldsOf(c, shop) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if got := fieldsOf(c.Within(ctx), shop); got != "nothing" || time.Since(began) != time.Second {
			t.Errorf("got %s after %v, want nothing after a second", got, time.Since(began))
		}
		all.Wait()
		expect(t, "one request", s, "", "", definitionPath+"shops.example.org")
	})
}

func TestConcurrentLookupsShareRequests(t *testing.T) {
	s := &server{texts: map[string]string{indexPath: indexOf(appsPath), appsPath: apps}}
	s.define(t, "Shop", "size", 1)
	s.texts[indexPath], s.texts[appsPath] = indexOf(appsPath), apps
	c := s.cache()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got := fieldsOf(c, shop) + fieldsOf(c, deployment()); got != "sizereplicas" {
				t.Errorf("got %s", got)
			}
		})
	}
	all.Wait()
	asked := s.requests()
	slices.Sort(asked)
	if diff := cmp.Diff([]string{definitionPath + "shops.example.org", indexPath, appsPath}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
