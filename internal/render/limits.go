package render

import "github.com/templater-dev/templater/internal/render/budget"

// Bounds of what templates yield, besides those of package budget.
const (
	// maxDocuments bounds the objects of one child template.
	maxDocuments = 2000
	// maxIncludes bounds the depth of include and template calls.
	maxIncludes = 64
)

const errIncludes budget.Error = "templates include each other more than 64 deep"

// Costs in units of budget.MaxWork. Those of parsing YAML are in package document.
const (
	costField   = 4    // following a path by one key
	costCall    = 100  // calling a function
	costJSON    = 1200 // a parser of JSON
	costVersion = 800  // a parser of a version
	// costReady is for asking whether an object is ready, costEach for each
	// value in its status, of which there are many in conditions.
	costReady = 2000
	costEach  = 200
	costLogs  = 4000 // for looking up what is known of a Pod's logs
)
