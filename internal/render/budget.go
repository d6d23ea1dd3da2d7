package render

// What one call of Child or Status may use. The numbers are chosen so that
// the costliest templates found end within 100 ms and 64 MiB on one core
// (the package's exhaustion tests), while a template that writes a thousand
// Pods stays far below them.
const (
	// maxWork bounds steps and bytes together. A unit is about one byte
	// read, written or allocated; see the costs below.
	maxWork = 16 << 20
	// maxOutput bounds the text that a template writes, tokens included,
	// and the characters of all scalars of its objects. etcd accepts about
	// 1.5 MB per object.
	maxOutput = 4 << 20
	// maxDocuments bounds the objects of one child template.
	maxDocuments = 2000
	// maxNodes bounds the scalars, maps and lists of all documents.
	maxNodes = 100_000
	// maxSeparators bounds the commas, colons, line ends and the like in
	// text to be parsed as YAML; the parser allocates up to 800 bytes for
	// each. A Pod has about 60.
	maxSeparators = 80_000
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

// Costs in units of maxWork.
const (
	costStep  = 40  // evaluating a node of a template
	costField = 4   // following a path by one key
	costCall  = 100 // calling a function
	costValue = 64  // writing a scalar, map or list
	costEntry = 64  // an entry of a map
	costItem  = 32  // an item of a list
	// costSeparator is for a separator of YAML text, see maxSeparators.
	costSeparator = 80
	// costParser is for a parser of YAML or JSON, costVersion for that of a
	// version.
	costParser  = 3000
	costVersion = 500
	// costReady is for asking whether an object is ready, costEach for each
	// value in its status, of which there are many in conditions.
	costReady = 1000
	costEach  = 100
)

// budgetError is how running out of budget travels; the place that catches it
// adds the position.
type budgetError string

func (e budgetError) Error() string { return string(e) }

const (
	errBudget     budgetError = "the template does too much work for one pass; make loops shorter or text smaller"
	errOutput     budgetError = "the template writes more than 4 MiB; split it, or write less"
	errNodes      budgetError = "the template writes more than 100000 values; split it, or write less"
	errSeparators budgetError = "the template writes too many line ends, colons, commas and the like; split it, or write less"
	errDeep       budgetError = "data is nested more than 100 deep"
	errIncludes   budgetError = "templates include each other more than 64 deep"
)

// budget counts what is left for one call of Child or Status.
type budget struct {
	work   int
	output int
	nodes  int
}

func newBudget() budget {
	return budget{work: maxWork, output: maxOutput, nodes: maxNodes}
}

// charge takes units from the work that is left. It must come before the
// work, or before the allocation, that it pays for.
func (b *budget) charge(units int) error {
	if units < 0 || units > b.work {
		b.work = 0
		return errBudget
	}
	b.work -= units
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

// node pays for a scalar, map or list of the output.
func (b *budget) node() error {
	if b.nodes == 0 {
		return errNodes
	}
	b.nodes--
	return nil
}
