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
	// unitBytes is the number of bytes that a unit of work may allocate.
	unitBytes = 2
	// nodeBytes is the maximum memory of a scalar, map or list of the result, without its text.
	nodeBytes = 256
	// grant is the number of units that are granted at a time; they take up to a millisecond.
	grant = FreeBytes / unitBytes
	// maxOutput is the maximum size in bytes of the text that a template writes, including tokens, and of the characters of all
	// scalars of its objects. etcd accepts about 1.5 MB per object.
	maxOutput = 4 << 20
	// maxNodes is the maximum number of scalars, maps and lists in all documents.
	maxNodes = 100_000
	// MaxDepth is the maximum depth of nested data, so that recursion cannot exhaust the stack; Kubernetes objects stay below 40.
	MaxDepth = 100
)

// FreeBytes is the memory that a reconciliation may use before it reserves more.
const FreeBytes = 256 << 10

// MaxBytes is the maximum memory of a reconciliation.
const MaxBytes = MaxWork * unitBytes

// Costs that more than one package charges, in units of work.
const (
	// CostItem is the cost of an item of a list.
	CostItem = 32
	// CostEntry is the cost of an entry of a map.
	CostEntry = 64
	// CostStep is the cost of evaluating a node of a template, or comparing two values.
	CostStep = 40
	// CostGrown is the cost of appending a byte to a text that grows and is therefore copied.
	CostGrown = 3
)

// costKept is the cost of a byte of a scalar of the result, which is written, compared and sent.
const costKept = 4

// Error means that the budget is used up. The caller that handles it adds the position.
type Error string

// Error returns the message for the author of the template.
func (e Error) Error() string { return string(e) }

// Errors for the parts of a budget that can be used up.
const (
	ErrWork   Error = "the templates exceed the budget of one reconciliation (about 64 MiB of memory or 0.2 s of CPU time for all templates together): use shorter loops or less text, or split the parent"
	ErrFilter Error = "the filter exceeds the budget of one object, about 256 KiB or a millisecond; only compare fields, and use labels for the rest"
	ErrOutput Error = "the template renders more than 4 MiB; split it, or render less"
	ErrNodes  Error = "the template renders more than 100000 values; split it, or render less"
	ErrDeep   Error = "data is nested more than 100 levels deep"
)

// InterruptedError means that a reconciliation was canceled.
type InterruptedError struct{ cause error }

// Error returns the same message whatever the cause.
func (e *InterruptedError) Error() string {
	return "the reconciliation was interrupted and will be repeated"
}

// Unwrap returns the error of Memory, or of the pause.
func (e *InterruptedError) Unwrap() error { return e.cause }

// Ended reports whether an error is of the budget and not of the data that was read.
func Ended(err error) bool {
	_, usedUp := errors.AsType[Error](err)
	_, interrupted := errors.AsType[*InterruptedError](err)
	return usedUp || interrupted
}
