package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// requirements lists the caches that a controller needs, and explains why they cannot be read.
type requirements struct{ *Controller }

// Obstacle returns why a required resource cannot be read, or "". It names at most three missing permissions.
func (c *Controller) Obstacle() (reason, message string) {
	r := requirements{c}
	needed := slices.DeleteFunc(r.caches(), func(n namedCache) bool { return n.optional })
	if reason, message = r.obstacleTo(needed); reason == "" {
		return c.lostRelated()
	}
	return reason, message
}

// ChildObstacle is like Obstacle, for children only. If there is no other reason, it reports that the caches are syncing.
func (c *Controller) ChildObstacle() (reason, message string) {
	r := requirements{c}
	of := slices.DeleteFunc(r.caches(), func(n namedCache) bool {
		return n.need.Use != permissions.Children && n.need.Use != permissions.FormerChildren
	})
	if reason, message = r.obstacleTo(of); reason == "" {
		return v1.ReasonSyncing, "the caches are syncing"
	}
	return reason, message
}

func (r requirements) obstacleTo(caches []namedCache) (reason, message string) {
	var missing []string
	for _, cache := range caches {
		because, text := r.unreadable(cache)
		if because == v1.ReasonForbidden {
			missing = append(missing, text)
			missing = append(missing, r.AlsoMissing(cache.need)...)
		} else if reason == "" {
			reason, message = because, text
		}
		if len(missing) >= 3 {
			break
		}
	}
	if len(missing) > 0 {
		return v1.ReasonForbidden, strings.Join(slices.Compact(missing), "; ") + Untouched
	}
	if reason == "" {
		return r.lostKind()
	}
	return reason, message
}

// AlsoMissing returns the permission to write the parents' status if it is missing together with the permission to read parents.
func (c *Controller) AlsoMissing(need permissions.Requirement) []string {
	if need.Use != permissions.Parents || !c.WritesStatus() {
		return nil
	}
	need.Use = permissions.Status
	if text := c.Rights.Known(need); text != "" {
		return []string{text}
	}
	return nil
}

// lostKind returns why the children of any kind cannot be read because the kind is not served, or "".
func (c *Caches) lostKind() (reason, message string) {
	names := map[string]Source{}
	for gk, s := range c.Sources {
		if s.Err != nil {
			names[gk.String()] = s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if reason, message := names[name].lost(); reason != "" {
			return reason, message
		}
	}
	return "", ""
}

// unreadable returns why a cache is not complete, or "".
func (r requirements) unreadable(cache namedCache) (reason, message string) {
	switch err := cache.cache.Err(); {
	case apierrors.IsForbidden(err):
		text, pending := r.Rights.Missing(err, cache.need)
		if pending {
			return v1.ReasonSyncing, "reading " + cache.need.Brief()
		}
		return v1.ReasonForbidden, text
	case apierrors.IsBadRequest(err): // a list request can have no other invalid input
		return v1.ReasonListFailed, fmt.Sprintf("cannot list %s by %s.fieldSelector: unsupported field; use metadata.name, or a field that the CustomResourceDefinition lists in selectableFields", cache.need.Brief(), cache.field)
	case errors.Is(err, watch.ErrDefect):
		return v1.ReasonListFailed, fmt.Sprintf("cannot read %s: %s%s", cache.need.Brief(), err, Untouched)
	case errors.Is(err, watch.ErrBehind):
		return v1.ReasonSyncing, fmt.Sprintf("reading %s again after a failure%s", cache.need.Brief(), Untouched)
	case err != nil:
		return v1.ReasonListFailed, fmt.Sprintf("cannot list or watch %s: %s%s", cache.need.Brief(), problem.PublicReason(err), Untouched)
	case !cache.cache.Synced():
		return v1.ReasonSyncing, "reading " + cache.need.Brief()
	}
	return "", ""
}

// ParentsForbidden reports whether reading any parents is forbidden, so that no write of their status was tried.
func (c *Caches) ParentsForbidden() bool {
	for _, cache := range c.Parents {
		if apierrors.IsForbidden(cache.Err()) {
			return true
		}
	}
	return false
}

// namedCache is a cache, and the permission that it needs.
type namedCache struct {
	need     permissions.Requirement
	cache    *watch.Cache
	field    string // of the spec with the selectors; "" = no selectors
	optional bool   // whether reconciliations continue without it
}

// caches returns all caches that the controller needs, those of the parents first, without namespaces that IsLeaving reports.
func (r requirements) caches() []namedCache {
	var out []namedCache
	for _, ns := range slices.Sorted(maps.Keys(r.Parents)) {
		out = append(out, namedCache{need: r.Rights.Claim(permissions.Parents, r.Kind, ns), cache: r.Parents[ns], field: "spec.watch"})
	}
	if r.Namespaces != nil {
		out = append(out, namedCache{need: r.NamespacesClaim(), cache: r.Namespaces})
	}
	byName := map[string]Source{}
	for _, s := range r.Sources {
		byName[s.Kind.Resource.GroupResource().String()] = s
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s := byName[name]
		for _, ns := range slices.Sorted(maps.Keys(s.Caches)) {
			if !r.IsLeaving(ns) {
				out = append(out, namedCache{need: r.Rights.Claim(s.use(), s.Kind, ns), cache: s.Caches[ns]})
			}
		}
	}
	return r.appendRelated(out)
}

// NamespacesClaim returns the permission to read Namespaces.
func (a *Access) NamespacesClaim() permissions.Requirement {
	return permissions.Requirement{As: a.As, Use: permissions.Namespaces, Resource: Namespaces.GroupResource()}
}

// Forbidden reports whether any cache lacks permissions.
func (c *Controller) Forbidden() bool {
	return slices.ContainsFunc(requirements{c}.caches(), func(n namedCache) bool { return apierrors.IsForbidden(n.cache.Err()) })
}

// Untouched is the end of messages about resources that cannot be read.
const Untouched = "; children are kept until this is resolved"

// Unreadable returns the problem that no children of a kind can be created in a namespace, because they cannot be listed or their kind is not
// recorded. It returns nil if they are known.
func (c *Controller) Unreadable(gk schema.GroupKind, namespace string) *problem.Problem {
	s := c.Sources[gk]
	if s.MayCreate(namespace) {
		return nil
	}
	reason := v1.ReasonChildRequestFailed
	if cache := s.For(namespace); cache != nil && apierrors.IsForbidden(cache.Err()) {
		reason = v1.ReasonForbidden
	}
	return &problem.Problem{Reason: reason, Message: fmt.Sprintf(
		"%s cannot read %s: see the Watching condition of %s%s", permissions.DisplayName(c.As), c.Rights.Claim(permissions.Children, s.Kind, s.Scope(namespace)).Brief(), v1.Describe(c.Name), Untouched)}
}
