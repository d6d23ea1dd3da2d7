package controller

import (
	"fmt"
	"maps"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// appendRelated appends the caches of related objects.
func (r requirements) appendRelated(out []namedCache) []namedCache {
	for _, e := range r.Related {
		optional := e.Optional && e.State() != related.Unreadable
		for _, ns := range slices.Sorted(maps.Keys(e.Caches)) {
			out = append(out, namedCache{r.Rights.Claim(permissions.Related, e.Kind, ns), e.Caches[ns], "spec." + syntax.RelatedName(e.Name), optional})
		}
		if e.Namespaces != nil {
			out = append(out, namedCache{need: r.NamespacesClaim(), cache: e.Namespaces, optional: optional})
		}
	}
	return out
}

// lostRelated returns why the objects of a related entry that parents wait for cannot be read, because their kind is not served, or "".
func (c *Caches) lostRelated() (reason, message string) {
	for _, e := range c.Related {
		if e.Err != nil && e.State() == related.Unreadable {
			return lostEntry(e)
		}
	}
	return "", ""
}

func lostEntry(e *related.Entry) (reason, message string) {
	where := "spec." + syntax.RelatedName(e.Name)
	switch {
	case kind.IsAPIServiceUnavailable(e.Err):
		return v1.ReasonKindNotFound, fmt.Sprintf("%s: %s; children are left unchanged until this is resolved", where, e.Err)
	case kind.Missing(e.Err):
		return v1.ReasonKindNotFound, fmt.Sprintf("%s: %s: install it, correct the entry, or make it optional; until then, children are left unchanged", where, e.Err)
	}
	return v1.ReasonListFailed, fmt.Sprintf("%s: API discovery failed: %s; children are left unchanged until this is resolved", where, problem.PublicReason(e.Err))
}

// Without returns which related objects cannot be read, and why, although reconciliations continue. They are in the order of the spec.
func (c *Controller) Without() []string {
	r := requirements{c}
	var out []string
	for _, e := range c.Related {
		if e.Err != nil && e.State() == related.Absent {
			out = append(out, syntax.RelatedName(e.Name)+": "+e.Err.Error())
		}
	}
	for _, cache := range r.appendRelated(nil) {
		if cache.optional {
			if reason, message := r.unreadable(cache); reason != "" {
				out = append(out, message)
			}
		}
	}
	return slices.Compact(out)
}
