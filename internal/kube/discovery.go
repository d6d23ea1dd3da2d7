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

// Discovery is client-go's DeferredDiscoveryRESTMapper, except that it distinguishes kinds that do not exist from kinds whose
// aggregated API server is currently unavailable.
type Discovery struct {
	*restmapper.DeferredDiscoveryRESTMapper
	cached discovery.CachedDiscoveryInterface
}

// NewDiscovery returns a Discovery that caches results until Reset is called. It is safe for concurrent use.
func NewDiscovery(client discovery.DiscoveryInterface) *Discovery {
	cached := memory.NewMemCacheClient(client)
	return &Discovery{restmapper.NewDeferredDiscoveryRESTMapper(cached), cached}
}

// RESTMapping returns the mapping of a kind in the first served version of versions, or in the preferred version if versions is
// empty. It returns a NoMatch error only if the server is known not to have the kind.
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

// errNoResources: an aggregated API server is registered but lists no kinds, because it is starting or terminating.
var errNoResources = errors.New("the aggregated API server lists no resources for the group")

// failure returns why a group could not be discovered completely, or nil.
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
		if g.Name == group && !hasResources(g, lists) {
			return errNoResources
		}
	}
	return nil
}

// hasResources reports whether any version of a group has resources.
func hasResources(group *metav1.APIGroup, lists []*metav1.APIResourceList) bool {
	return slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
		return len(list.APIResources) > 0 && slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool {
			return v.GroupVersion == list.GroupVersion
		})
	})
}
