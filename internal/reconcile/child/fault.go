package child

import (
	"errors"
	"slices"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Fault is a problem with what the template of an entry yields.
type Fault struct {
	*problem.Problem
	Entry string // of spec.children; "" for all of them
	Other string // another entry that has the same fault, or ""
	// Always is whether it has to be told although the entry waits for others, and may have no fault when they are ready.
	Always bool
}

// of reports whether the entry has the fault.
func (f Fault) of(entry string) bool { return entry == f.Entry || entry == f.Other || f.Entry == "" }

// ofThePass reports whether rendering has failed for all templates of the pass.
func ofThePass(err error) bool {
	failure, ok := errors.AsType[*syntax.Error](err)
	return !ok || failure.Reason == syntax.Budget || failure.Reason == syntax.Interrupted
}

// Sound reports whether all that an entry wants is known, and nobody disputes it.
func (d *Desired) Sound(entry string) bool {
	return !slices.Contains(d.Failed, entry) && !slices.ContainsFunc(d.Faults, func(f Fault) bool { return f.of(entry) })
}
