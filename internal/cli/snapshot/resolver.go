package snapshot

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
)

// Resolver resolves kinds: from definitions, or else from a cluster. It reads each kind once. It is not safe for concurrent use.
type Resolver struct {
	ctx    context.Context //nolint:containedctx // lives for one command, and its callers have no context
	source *Source
	known  kind.Declared
	asked  map[schema.GroupVersionKind]bool
}

// Resolver returns a Resolver for definitions, which take precedence, and the cluster. It uses ctx for requests.
func (s *Source) Resolver(ctx context.Context, definitions kind.Declared) *Resolver {
	return &Resolver{ctx, s, definitions, map[schema.GroupVersionKind]bool{}}
}

// Resolve returns the kind in that version. The error is a *[kind.NotFoundError] if neither the definitions nor the cluster have it; any other
// error is a failed request.
func (r *Resolver) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := r.known.Resolve(gvk)
	missing, _ := errors.AsType[*kind.NotFoundError](err)
	if missing == nil || missing.Served != "" || r.asked[gvk] {
		return found, err
	}
	read, failure := r.source.Definitions(r.ctx, []schema.GroupVersionKind{gvk})
	if failure != nil {
		return kind.Kind{}, failure
	}
	r.asked[gvk] = true
	r.known = append(r.known[:len(r.known):len(r.known)], read...)
	return r.known.Resolve(gvk)
}
