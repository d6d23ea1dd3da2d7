package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
)

const (
	indexPath      = "/openapi/v3"
	definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
)

// defined returns the Set of a CustomResourceDefinition that was read after a time and is at least as new as definition, or nil.
func (c *Cache) defined(ctx context.Context, gk schema.GroupKind, definition *object.Object, after time.Time) Set {
	read, current := c.read(ctx, gk, want{
		path: definitionPath + definition.Name(),
		current: func(is content) bool {
			return is.uid == definition.UID() && is.generation >= definition.Generation() && !is.at.Before(after)
		},
		parse: parseDefinition,
	})
	if !current {
		return nil
	}
	return read.set
}

var errDeepDefinition = errors.New("its lists and maps are nested too deep")

func parseDefinition(text []byte) (content, error) {
	if tooDeep(text) {
		return content{}, errDeepDefinition
	}
	var read apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &read); err != nil {
		return content{}, err
	}
	return content{set: FromCRD(&read), uid: read.UID, generation: read.Generation}, nil
}

// listed returns the kinds that the server lists in a group version, or nil. Usually, the watched CustomResourceDefinitions
// contain all kinds of a group. Exceptions are definitions that the watch has not delivered yet, and APIServices that delegate
// the version to another server. A list is small, whereas a document can have many MB.
func (c *Cache) listed(ctx context.Context, gvk schema.GroupVersionKind) Set {
	read, _ := c.read(ctx, gvk.GroupKind(), want{
		path:    "/apis/" + gvk.GroupVersion().String(),
		current: func(is content) bool { return c.Clock.Since(is.at) < absentTTL },
		parse:   parseList,
	})
	return read.set
}

// kinds are the kinds of one group version, by name. Their fields are unknown.
type kinds map[string]bool

// Lookup reports whether a kind exists.
func (k kinds) Lookup(gvk schema.GroupVersionKind) (*Type, bool) { return nil, k[gvk.Kind] }

func has(set Set, gvk schema.GroupVersionKind) bool {
	_, exists := set.Lookup(gvk)
	return exists
}

func parseList(text []byte) (content, error) {
	var list struct {
		Resources []struct {
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return content{}, err
	}
	all := kinds{}
	for _, resource := range list.Resources {
		if !strings.Contains(resource.Name, "/") { // subresources can have kinds of other groups, such as Scale
			all[resource.Kind] = true
		}
	}
	return content{set: all}, nil
}

// published returns the kinds in the document of a group version, or nil.
func (c *Cache) published(ctx context.Context, gvk schema.GroupVersionKind) Set {
	name := "apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		name = "api/" + gvk.Version
	}
	index, _ := c.read(ctx, gvk.GroupKind(), want{
		path: indexPath,
		current: func(is content) bool {
			age := c.Clock.Since(is.at)
			return age < absentTTL || is.paths[name] != "" && age < documentTTL
		},
		parse: parseIndex,
	})
	path := index.paths[name]
	if path == "" {
		return nil
	}
	document, _ := c.read(ctx, gvk.GroupKind(), want{
		path:    path,
		current: func(is content) bool { return hashed(path) || c.Clock.Since(is.at) < documentTTL },
		parse:   parseDocument,
	})
	return document.set
}

func parseDocument(text []byte) (content, error) {
	set, err := FromOpenAPI(text)
	return content{set: set}, err
}

func parseIndex(text []byte) (content, error) {
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return content{}, err
	}
	paths := make(map[string]string, len(index.Paths))
	for name, document := range index.Paths {
		paths[name] = document.ServerRelativeURL
	}
	return content{paths: paths}, nil
}

// hashed reports whether the path of a document contains a hash of its contents, as in Kubernetes.
func hashed(path string) bool {
	at, err := url.Parse(path)
	return err == nil && at.Query().Has("hash")
}
