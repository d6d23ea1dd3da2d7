package render

import (
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Source is what a TemplateController says, as plain data, with a field for each part of a spec that is about templates. It must not change
// while a [Program] that was compiled from it is in use.
type Source struct {
	// Controller is what .controller.name yields.
	Controller string
	// LeftDelim and RightDelim enclose actions; "" means {{ and }}.
	LeftDelim, RightDelim string
	// Values is what .values yields: plain JSON data, nil means none.
	Values map[string]any
	// Helpers holds define blocks, visible to every other template.
	Helpers string
	// Children holds the templates of the children, in order.
	Children []syntax.Template
	// ReadyWhen holds the expressions that tell whether an object of a child is ready, by the name of the child.
	// It may lack children.
	ReadyWhen []syntax.Template
	// Filter is the expression that tells whether an object is a parent; "" means that all are. FilterSeesStatus is whether it may
	// read their status.
	Filter           string
	FilterSeesStatus bool
	// Status is the template of the parent's status; "" means there is none.
	Status string
	// Related holds the select templates of related objects, in order. A text of "" means that there is
	// none; the name is known all the same.
	Related []syntax.Template
	// Logs is whether any of these has logs, so that templates may ask for some.
	Logs bool
	// Pause is called now and then while the source is compiled. An error ends that, and is what it ends with; nil = there are no pauses.
	Pause func() error
}

// Input is the data of one pass. Nothing in it is changed or kept. Objects
// may carry metadata.managedFields and metadata.resourceVersion; templates do
// not see them.
type Input struct {
	// Parent is the parent object.
	Parent map[string]any
	// Observed returns the live children of a child's name, already sorted.
	// It is called when a template reads them, at most once for each name
	// and execution, so what no template reads need not be there at all. nil
	// means that there are no children. An error, which is that of Spend,
	// ends the execution.
	Observed func(name string) ([]map[string]any, error)
	// Related returns the related objects of an entry's name, already sorted. It is called as Observed is; nil
	// means that they are not known, so that reading them fails. An error that is not that of Spend is told as it is, with the place.
	Related func(name string) ([]map[string]any, error)
	// Ready is what the function ready answers; nil means never. It must
	// not change or keep the object.
	Ready func(object map[string]any) bool
	// Logs answers the function logs: the texts of a Pod's logs by the names of
	// its containers. It must not change or keep the object, and its error
	// is that of Spend, or holds no value; nil means that there are no logs to ask for.
	Logs func(object map[string]any) (map[string]string, error)
	// MayHave reports whether an object that Observed or Related returned may have a field at a path, by its schema: a template waits for
	// such a field. Positions in lists are left out of the path. nil means that nothing is known of schemas.
	MayHave func(object map[string]any, path []string) bool
	// Place is told, for each field of each object that the template of a child yields, where it is from: the number of the object, from 0,
	// the path of the field, such as .spec.containers[0].image, and the line of a template. Of what include yields that is the line of the
	// define block, unless functions have changed it beyond recognition. nil asks for nothing.
	Place func(object int, path, template string, line int)
	// Pause is called about every millisecond of work, so that others have
	// their turn. An error ends the work, and is what it ends with. nil
	// means that there are no pauses.
	Pause func() error
	// Budget is that of the pass; nil means that this execution has one of its
	// own.
	Budget *budget.Pass
}

// Object is one rendered document.
type Object struct {
	// Content is plain JSON data: map[string]any, []any, string, bool, nil,
	// int64 and float64. Its maps and lists are freshly made.
	Content map[string]any
	// Line is the 1-based line of the template where the document begins.
	Line int
}

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
