package kube

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// Discovery is client-go's deferred RESTMapper, but that it tells a kind that the server does not have from
// one of a group whose own server does not answer just now.
type Discovery struct {
	*restmapper.DeferredDiscoveryRESTMapper
	cached discovery.CachedDiscoveryInterface
}

// NewDiscovery returns a Discovery that remembers what it was told until it is Reset. It is safe
// for concurrent use.
func NewDiscovery(client discovery.DiscoveryInterface) *Discovery {
	cached := memory.NewMemCacheClient(client)
	return &Discovery{restmapper.NewDeferredDiscoveryRESTMapper(cached), cached}
}

// RESTMapping returns the mapping of a kind, in the first of the versions that the server has, or,
// where none is given, in the one that the server prefers. The error is a NoMatch only where the server
// is known not to have the kind.
func (d *Discovery) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := d.DeferredDiscoveryRESTMapper.RESTMapping(gk, versions...)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	if failure := d.failure(gk.Group); failure != nil {
		return nil, failure
	}
	return nil, err
}

// errNoKinds says that a server of its own is registered and names no kind: it has just begun, or is about to end.
var errNoKinds = errors.New("the server of the group lists no kinds")

// failure returns why some of a group could not be discovered, or nil.
func (d *Discovery) failure(group string) error {
	groups, lists, err := d.cached.ServerGroupsAndResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return err
	}
	if partly != nil {
		for gv, failure := range partly.Groups {
			if gv.Group == group {
				return failure
			}
		}
	}
	for _, g := range groups {
		if g.Name == group && !namesKinds(g, lists) {
			return errNoKinds
		}
	}
	return nil
}

// namesKinds reports whether there is a kind in any version of a group.
func namesKinds(group *metav1.APIGroup, lists []*metav1.APIResourceList) bool {
	return slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
		return len(list.APIResources) > 0 && slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool {
			return v.GroupVersion == list.GroupVersion
		})
	})
}
