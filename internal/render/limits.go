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

// costField is for following a path by one key, in units of budget.MaxWork. Other costs are in the packages that charge for them.
const costField = 4
