package render

import "errors"

// What the templates of one pass may use together, and one template by itself. The numbers are
// chosen so that the costliest templates found end within 250 ms and 64 MiB on one core
// (the package's exhaustion tests), while a pass that makes a thousand Pods stays below them.
const (
	// maxWork bounds steps and memory of a pass together. A unit pays for
	// unitBytes, or for some nanoseconds; see the costs below.
	maxWork = 32 << 20
	// unitBytes is how many bytes a unit of work may allocate.
	unitBytes = 2
	// nodeBytes is how much memory a scalar, map or list of the result takes at most, but for its text.
	nodeBytes = 256
	// grant is how many units a pass gets at a time, which take up to a millisecond.
	grant = FreeBytes / unitBytes
	// maxOutput bounds the text that a template writes, tokens included,
	// and the characters of all scalars of its objects. etcd accepts about
	// 1.5 MB per object.
	maxOutput = 4 << 20
	// maxDocuments bounds the objects of one child template.
	maxDocuments = 2000
	// maxNodes bounds the scalars, maps and lists of all documents.
	maxNodes = 100_000
	// maxIncludes bounds the depth of include and template calls.
	maxIncludes = 64
	// maxDepth bounds the nesting of data, so that recursion over it
	// cannot exhaust the stack; Kubernetes objects stay below 40.
	maxDepth = 100
	// maxNesting bounds the nesting of blocks and parentheses in a
	// template's own text, for the same reason.
	maxNesting = 200
	// maxTemplate bounds the text of one template, in bytes. An object in
	// etcd is at most 1.5 MB.
	maxTemplate = 512 << 10
)

// FreeBytes is how much memory a pass may use before its PassBudget asks for more.
const FreeBytes = 256 << 10

// MaxBytes is how much memory a pass may use in all.
const MaxBytes = maxWork * unitBytes

// Costs in units of maxWork. Those of parsing YAML are in document.go.
const (
	costStep  = 40  // evaluating a node of a template
	costField = 4   // following a path by one key
	costCall  = 100 // calling a function
	costValue = 96  // writing a scalar, map or list
	costEntry = 64  // an entry of a map
	costItem  = 32  // an item of a list
	costMap   = 128 // a map that is not empty
	// costGrown is for a byte at the end of a text that grows, and so is copied.
	costGrown = 3
	// costKept is for a byte of a scalar of the result, which is written, compared and sent.
	costKept    = 4
	costJSON    = 1200 // a parser of JSON
	costVersion = 800  // a parser of a version
	// costReady is for asking whether an object is ready, costEach for each
	// value in its status, of which there are many in conditions.
	costReady = 2000
	costEach  = 200
)

// budgetError is how running out of budget travels; the place that catches it
// adds the position.
type budgetError string

func (e budgetError) Error() string { return string(e) }

const (
	errBudget   budgetError = "the templates do too much work for one pass, which has about 64 MiB or 0.2 s for all of them together; make loops shorter or text smaller, or divide the parent"
	errOutput   budgetError = "the template writes more than 4 MiB; split it, or write less"
	errNodes    budgetError = "the template writes more than 100000 values; split it, or write less"
	errDeep     budgetError = "data is nested more than 100 deep"
	errIncludes budgetError = "templates include each other more than 64 deep"
)

// interruption is how the end of a pass from outside travels.
type interruption struct{ cause error }

func (e *interruption) Error() string { return "the pass was interrupted, and is repeated" }

// Unwrap returns what Memory has returned.
func (e *interruption) Unwrap() error { return e.cause }

// fromBudget reports whether an error is of the budget rather than of what is read.
func fromBudget(err error) bool {
	_, usedUp := errors.AsType[budgetError](err)
	_, ended := errors.AsType[*interruption](err)
	return usedUp || ended
}

// PassBudget is what the templates of one pass may use together: work, which takes time, and with it memory.
// It is handed to each call of Child and Status of the pass. It must be begun, and is not safe for concurrent use.
type PassBudget struct {
	granted int  // units that may be used
	left    int  // units that may still be granted
	kept    int  // see Kept
	used    bool // see UsedUp
	from    Memory
	pausing func() error // of the execution
	err     error        // what from has returned
}

// Memory is where a pass gets its memory from.
type Memory interface {
	// Grow is called before a pass uses more memory than it has asked for, with the number of bytes
	// that it is to have besides. It may wait. An error ends the pass.
	Grow(bytes int) error
}

// Begin readies the budget for a pass. Of the memory that it uses, FreeBytes are free, and the rest is asked for,
// which is at most MaxBytes. nil is for nobody to ask.
func (b *PassBudget) Begin(from Memory) {
	*b = PassBudget{granted: grant, left: maxWork - grant, from: from}
}

// Kept returns how many bytes are, at most, held by what the templates of the pass have yielded.
func (b *PassBudget) Kept() int { return b.kept }

// UsedUp reports whether the templates have wanted more than the budget. Then none can be rendered any more.
func (b *PassBudget) UsedUp() bool { return b.used }

// Spend takes what other work of the pass takes, in bytes of memory, before it is done. The error is for Observed to return.
func (b *PassBudget) Spend(bytes int) error {
	units := bytes / unitBytes
	if units > b.granted {
		if err := b.extend(units - b.granted); err != nil {
			return err
		}
	}
	b.granted -= units
	return nil
}

// extend has at least so many units more granted.
func (b *PassBudget) extend(units int) error {
	if b.err != nil {
		return b.err
	}
	if units < 0 || units > b.left {
		b.granted, b.left, b.used = 0, 0, true
		return errBudget
	}
	units = min(max(units, grant), b.left)
	if b.from != nil {
		if err := b.from.Grow(units * unitBytes); err != nil {
			b.granted, b.err = 0, &interruption{err}
			return b.err
		}
	}
	b.granted, b.left = b.granted+units, b.left-units
	return b.pause()
}

// budget counts what is left for one call of Child or Status.
type budget struct {
	work   int // what is granted: see PassBudget
	output int
	nodes  int
	// pass is where more is granted, a little at a time, with a pause each time. nil is for nowhere.
	pass *PassBudget
}

// draw returns what one call may use of a pass, until it gives it back. pausing is as in Input.
func (b *PassBudget) draw(pausing func() error) budget {
	work := b.granted
	b.granted, b.pausing = 0, pausing
	return budget{work: work, output: maxOutput, nodes: maxNodes, pass: b}
}

// giveBack returns to the pass what is left.
func (b *budget) giveBack() {
	if b.pass != nil {
		b.lend()
		b.pass.kept += nodeBytes*(maxNodes-b.nodes) + maxOutput - b.output
	}
	*b = budget{}
}

// lend lets the pass use what is granted, until it is taken back.
func (b *budget) lend() {
	if b.pass != nil {
		b.pass.granted, b.work = b.work, 0
	}
}

func (b *budget) takeBack() {
	if b.pass != nil {
		b.work, b.pass.granted = b.pass.granted, 0
	}
}

// charge takes units from the work that is left. It must come before the
// work, or before the allocation, that it pays for.
func (b *budget) charge(units int) error {
	if units < 0 || units > b.work {
		return b.extend(units)
	}
	b.work -= units
	return nil
}

// extend is charge where more is needed than is granted.
func (b *budget) extend(units int) error {
	if b.pass == nil || units < 0 {
		b.work = 0
		return errBudget
	}
	if err := b.pass.extend(units - b.work); err != nil {
		b.work = 0
		return err
	}
	b.work += b.pass.granted - units
	b.pass.granted = 0
	return nil
}

// write takes bytes from the output that is left.
func (b *budget) write(bytes int) error {
	if bytes < 0 || bytes > b.output {
		b.output = 0
		return errOutput
	}
	b.output -= bytes
	return nil
}

// keep pays for a scalar of the result.
func (b *budget) keep(bytes int) error {
	if err := b.write(bytes); err != nil {
		return err
	}
	return b.charge(costKept * bytes)
}

// node pays for a scalar, map or list of the output.
func (b *budget) node() error {
	if b.nodes == 0 {
		return errNodes
	}
	b.nodes--
	return b.charge(costItem)
}
