// Package budget limits the work, the memory and the output of templates, so that none of them can hang the operator or exhaust its memory.
package budget

import "errors"

// Limits of all templates of one reconciliation, and of one template. The numbers are
// chosen so that the most expensive templates found end within 250 ms and 64 MiB on one core
// (the exhaustion tests of package render), while a reconciliation that creates a thousand Pods stays below them.
const (
	// MaxWork limits steps and memory of a reconciliation together, in units of work. A unit is
	// two bytes, or some nanoseconds.
	MaxWork = 32 << 20
	// unitBytes is how many bytes a unit of work may allocate.
	unitBytes = 2
	// nodeBytes is how much memory a scalar, map or list of the result takes at most, but for its text.
	nodeBytes = 256
	// grant is how many units a reconciliation gets at a time, which take up to a millisecond.
	grant = FreeBytes / unitBytes
	// maxOutput bounds the text that a template writes, tokens included,
	// and the characters of all scalars of its objects. etcd accepts about
	// 1.5 MB per object.
	maxOutput = 4 << 20
	// maxNodes bounds the scalars, maps and lists of all documents.
	maxNodes = 100_000
	// MaxDepth bounds the nesting of data, so that recursion over it
	// cannot exhaust the stack; Kubernetes objects stay below 40.
	MaxDepth = 100
)

// FreeBytes is how much memory a reconciliation may use before it reserves more.
const FreeBytes = 256 << 10

// MaxBytes is how much memory a reconciliation may use in all.
const MaxBytes = MaxWork * unitBytes

// What is done in more than one package, in units of work.
const (
	// CostItem is for an item of a list.
	CostItem = 32
	// CostEntry is for an entry of a map.
	CostEntry = 64
	// CostStep is for evaluating a node of a template, or comparing two values.
	CostStep = 40
	// CostGrown is for a byte at the end of a text that grows, and so is copied.
	CostGrown = 3
)

// costKept is for a byte of a scalar of the result, which is written, compared and sent.
const costKept = 4

// Error is how running out of budget travels; the place that catches it
// adds the position.
type Error string

// Error returns the message for the author of the template.
func (e Error) Error() string { return string(e) }

// The parts of a budget that may be used up.
const (
	ErrWork   Error = "the templates exceed the budget of one reconciliation, about 64 MiB or 0.2 s for all of them together; use shorter loops or smaller text, or split the parent"
	ErrFilter Error = "the filter exceeds the budget of one object, about 256 KiB or a millisecond; only compare fields, and use labels for the rest"
	ErrOutput Error = "the template renders more than 4 MiB; split it, or render less"
	ErrNodes  Error = "the template renders more than 100000 values; split it, or render less"
	ErrDeep   Error = "data is nested more than 100 deep"
)

// InterruptedError means that a reconciliation was cancelled.
type InterruptedError struct{ cause error }

// Error returns the same message whatever the cause.
func (e *InterruptedError) Error() string {
	return "the reconciliation was interrupted and is repeated"
}

// Unwrap returns what Memory, or the pause, has returned.
func (e *InterruptedError) Unwrap() error { return e.cause }

// Ended reports whether an error is of the budget rather than of what is read.
func Ended(err error) bool {
	_, usedUp := errors.AsType[Error](err)
	_, interrupted := errors.AsType[*InterruptedError](err)
	return usedUp || interrupted
}
