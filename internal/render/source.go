package render

import (
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Source is the part of a TemplateController's spec that a [Program] is compiled from, as plain data. It must not change while the
// Program is in use.
type Source struct {
	// Controller is the value of .controller.name.
	Controller string
	// LeftDelim and RightDelim enclose actions; "" means {{ and }}.
	LeftDelim, RightDelim string
	// Values is the value of .values: plain JSON data; nil = none.
	Values map[string]any
	// Helpers contains define blocks that all other templates can use.
	Helpers string
	// Children are the child templates, in order.
	Children []syntax.Template
	// ReadyWhen are the readyWhen expressions by the name of the child template. Not every child template has one.
	ReadyWhen []syntax.Template
	// Filter is the expression that selects the parents; "" selects all objects. FilterSeesStatus reports whether it may read their
	// status.
	Filter           string
	FilterSeesStatus bool
	// Status is the template of the parent's status; "" = none.
	Status string
	// Related are the select templates of spec.related, in order. Entries without one have the text "".
	Related []syntax.Template
	// Logs reports whether an entry of spec.related provides logs, so that templates may call the function logs.
	Logs bool
	// Pause is called repeatedly during compilation. If it returns an error, compilation stops with this error. nil = no pauses.
	Pause func() error
}

// Input is the data of one reconciliation. It is neither modified nor retained. Objects may have metadata.managedFields and
// metadata.resourceVersion; templates do not see them.
type Input struct {
	// Parent is the parent object.
	Parent map[string]any
	// Observed returns the sorted live children of a child template. It is called when a template reads them, at most once per name
	// and execution. If it returns an error, which is that of Budget.Spend, the execution stops. nil = there are no children.
	Observed func(name string) ([]map[string]any, error)
	// Related returns the sorted related objects of an entry of spec.related. It is called like Observed. Errors other than that of
	// Budget.Spend are returned with the place in the template. nil = they are not known, and reading them fails.
	Related func(name string) ([]map[string]any, error)
	// Ready implements the function ready. It must not modify or retain the object. nil = no object is ready.
	Ready func(object map[string]any) bool
	// Logs implements the function logs: it returns the logs of a Pod by container name. It must not modify or retain the object. Its
	// error is that of Budget.Spend, or contains no values. nil = there are no logs.
	Logs func(object map[string]any) (map[string]string, error)
	// Passed implements the function after: it reports whether it is this time or later, in seconds since 1970. nil = it never is.
	Passed func(seconds int64) bool
	// MayHave reports whether, according to its schema, an object that Observed or Related returned may have a field at this path. A
	// template waits for such a field. List indexes are not part of the path. nil = no schemas are known.
	MayHave func(object map[string]any, path []string) bool
	// Place is called for each field of each rendered object: with the index of the object, the path of the field, such as
	// .spec.containers[0].image, and the line of the template that it comes from. For the output of include, this is the line of the
	// define block, unless functions have changed the text too much. nil = not needed.
	Place func(object int, path, template string, line int)
	// Pause is called about once per millisecond of work, so that other goroutines can run. If it returns an error, the execution
	// stops with this error. nil = no pauses.
	Pause func() error
	// Budget is the budget of the reconciliation; nil = this execution has its own.
	Budget *budget.Budget
}

// Object is one rendered document.
type Object struct {
	// Content is plain JSON data: map[string]any, []any, string, bool, nil, int64 and float64. Its maps and lists are not shared.
	Content map[string]any
	// Line is the line of the template at which the document begins, counted from 1.
	Line int
}

// Limits of template output, in addition to those of package budget.
const (
	// maxDocuments is the maximum number of objects that one child template renders.
	maxDocuments = 2000
	// maxIncludes is the maximum depth of nested include and template calls.
	maxIncludes = 64
)

const errIncludes budget.Error = "include calls are nested more than 64 levels deep"

// costField is the cost of looking up one key, in units of budget.MaxWork. Other costs are defined in the packages that charge for
// them.
const costField = 4
