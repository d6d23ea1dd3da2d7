package types

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Words returns why a value is always missing, and what to write instead of its key; "" = unknown.
func (f *Finder) Words(n *Note) (message, replacement string) {
	if n.Code == finding.NoFields {
		return fmt.Sprintf("%s is %s, so it has no .%s%s", n.Origin.Words(), n.Kinds.Words(), n.Key, f.instead(n.Origin, n.Key)), ""
	}
	return f.unknown(n)
}

// unknown reports an unknown field, with a suggestion.
func (f *Finder) unknown(n *Note) (message, replacement string) {
	known := f.Keys(n.In)
	nearest := f.Nearest(n.Key, known)
	where, sure := f.elsewhere(n.Origin, n.Key)
	hint := ""
	switch {
	case n.Origin.Hides(n.Key):
		hint = ": templates cannot read it, because it changes all the time"
	case nearest != "" && !sure:
		hint, replacement = syntax.DidYouMean(nearest), nearest
	case where != "":
		hint, replacement = "; it is in "+where, below(n.Origin, where, n.Key)
	case nearest != "":
		hint, replacement = syntax.DidYouMean(nearest), nearest
	case len(known) > 0 && len(known) <= maxKnown:
		hint = "; known: " + strings.Join(known, " ")
	}
	always := ""
	if n.Severity == finding.Warning {
		always = ", so it is always missing"
	}
	switch {
	case n.Origin == nil || n.Origin.Source == FromTemplate:
		return fmt.Sprintf("this map has no .%s%s%s", n.Key, always, hint), replacement
	case n.Origin.Source == FromValues:
		return fmt.Sprintf("spec.values has no %s%s%s", strings.TrimPrefix(n.Origin.Path+"."+n.Key, "."), always, hint), replacement
	}
	return fmt.Sprintf("%s has no field %s.%s%s%s", n.Origin.Object, n.Origin.Path, n.Key, always, hint), replacement
}

// below returns the path to a key that exists further down, as a replacement.
func below(o *Origin, where, key string) string {
	rest, ok := strings.CutPrefix(where, o.Path+".")
	if !ok || strings.Contains(rest, "[]") {
		return ""
	}
	return rest + "." + key
}

// instead suggests how to reach the items of a list, or where the field is.
func (f *Finder) instead(o *Origin, key string) string {
	if o == nil || o.Type == nil {
		return ""
	}
	switch {
	case o.Type.Kinds&openapi.List != 0 && has(o.Type.Items, key):
		return "; its items have it: use range, first or index"
	case o.Type.Kinds&openapi.List != 0:
		return "; use range, first or index"
	}
	if where, _ := f.elsewhere(o, key); where != "" {
		return "; it is in " + where
	}
	return ""
}
