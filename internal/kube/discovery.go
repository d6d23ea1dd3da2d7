package kube

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// mapper is client-go's deferred RESTMapper, but that it tells a kind that the server does not have from
// one of a group whose own server does not answer just now.
type mapper struct {
	*restmapper.DeferredDiscoveryRESTMapper
	cached discovery.CachedDiscoveryInterface
}

// NewDiscovery returns a Discovery that remembers what it was told until it is Reset. It is safe
// for concurrent use.
func NewDiscovery(client discovery.DiscoveryInterface) Discovery {
	cached := memory.NewMemCacheClient(client)
	return &mapper{restmapper.NewDeferredDiscoveryRESTMapper(cached), cached}
}

// RESTMapping returns the mapping of a kind, in the first of the versions that the server has, or,
// where none is given, in the one that the server prefers. The error is a NoMatch only where the server
// is known not to have the kind.
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.DeferredDiscoveryRESTMapper.RESTMapping(gk, versions...)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	if failure := m.failure(gk.Group); failure != nil {
		return nil, failure
	}
	return nil, err
}

// failure returns why some of a group could not be discovered, or nil.
func (m *mapper) failure(group string) error {
	aggregated, ok := m.cached.(discovery.AggregatedDiscoveryInterface)
	if !ok {
		return nil
	}
	_, _, failed, err := aggregated.GroupsAndMaybeResources()
	if err != nil {
		return err
	}
	for gv, failure := range failed {
		if gv.Group == group {
			return failure
		}
	}
	return nil
}
