package typed

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// field returns the value of a key of v, and reports invalid accesses.
func (e *evaluator) field(v *types.Value, key string, at types.Place) *types.Value {
	switch {
	case v.Kinds == openapi.Null:
		return v
	case v.Kinds != 0 && v.Kinds&openapi.Map == 0:
		return e.noMap(v, key, at)
	}
	found, known := v.Lookup(key)
	if !known {
		return e.unknown(v, key, at)
	}
	e.notes.Resolved(at)
	if e.collecting > 0 {
		e.notes.Test(found.Origin, e.tests())
	}
	if e.met != nil {
		e.met = add(e.met, found.Optional)
	}
	if e.labels[found.Origin.Step()] {
		found = found.Present()
	}
	return v.Reached(found, at)
}

// tests returns the template whose warnings a test at this place excuses; nil = all.
func (e *evaluator) tests() *syntax.Text {
	if e.depth > 0 || e.unit.Purpose == syntax.ForFilter || e.unit.Purpose == syntax.ForFilterWithoutStatus {
		return nil
	}
	return e.unit.Text
}

// noMap reports that a key is read from a value that is not a map.
func (e *evaluator) noMap(v *types.Value, key string, at types.Place) *types.Value {
	n := e.note(finding.NoFields, at)
	n.Origin, n.Key, n.Kinds = v.Origin, key, v.Kinds&^openapi.Null
	if e.dead == 0 {
		n.Raise(finding.Warning)
	}
	if v.Kinds&openapi.Null == 0 {
		e.fails(n)
	}
	return &types.Value{Kinds: openapi.Null, Notes: []*types.Note{n}}
}

// unknown reports that a map cannot have a key.
func (e *evaluator) unknown(v *types.Value, key string, at types.Place) *types.Value {
	n := e.note(finding.UnknownField, at)
	n.Origin, n.In, n.Key = v.Origin, v, key
	switch {
	case v.Origin == nil:
	case v.Origin.Source == types.FromSchema, v.Origin.Source == types.FromValues && (e.dead == 0 || e.notes.Misspelled(n)):
		n.Raise(finding.Warning)
	}
	return &types.Value{Kinds: openapi.Null, Notes: []*types.Note{n}}
}

// provided records that a fallback or hasKey handles a missing value: spec.values may lack it, since an
// overlay can add it.
func (e *evaluator) provided(v *types.Value) {
	for _, n := range v.Notes {
		if n.Code == finding.UnknownField && n.Origin != nil && n.Origin.Source == types.FromValues && !e.notes.Misspelled(n) {
			e.notes.Resolved(n.At)
		}
	}
}

// compares records that a condition compares a value, which can decide which fields beside it exist.
func (e *evaluator) compares(v *types.Value) {
	if e.collecting > 0 && v.Origin != nil {
		e.conditions = append(e.conditions, v.Origin.Step())
	}
}

// mayLack reports a required value that some objects do not have, and that no condition tests.
func (e *evaluator) mayLack(v *types.Value, n parse.Node) {
	if v.Kinds&openapi.Null == 0 || len(v.Optional) == 0 {
		return
	}
	var missing []string
	wrong := false // a test says that it can be missing here
	for _, step := range v.Optional {
		for _, other := range e.conditions {
			if step == "" || parentOf(step) == parentOf(other) {
				return
			}
		}
		if !slices.Contains(e.has, step) {
			missing = append(missing, step)
			wrong = wrong || slices.Contains(e.lacks, step)
		}
	}
	if len(missing) == 0 || e.waits(v.Optional[len(v.Optional)-1]) {
		return
	}
	at := v.At
	if at.Text == nil {
		at = e.at(n)
	}
	last := v.Optional[len(v.Optional)-1]
	what := last
	if v.Origin != nil {
		what = strings.TrimPrefix(last, v.Origin.Root)
	}
	note := e.warnf(finding.Optional, at, "%s is optional, and rendering fails without it; use default, required or with", what)
	if !wrong {
		note.Unless, note.Within = missing, e.tests()
	}
}

// waits reports whether templater waits for a missing value or omits it: in a related object or a child of another template.
func (e *evaluator) waits(step string) bool {
	root, _, isItem := strings.Cut(step, "[]")
	name, isChild := strings.CutPrefix(root, ".children.")
	if !isItem || e.unit.Purpose == syntax.ForReadyWhen {
		return false
	}
	return strings.HasPrefix(root, ".related.") || isChild && e.unit.Text.Name != syntax.ChildName(name)
}

func parentOf(step string) string {
	if i := strings.LastIndexByte(step, '.'); i >= 0 {
		return step[:i]
	}
	return step
}
