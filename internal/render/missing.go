package render

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// A field of a related object or of another child may be set later, by Kubernetes or a controller. A child template that needs it
// waits; the status template omits the key or list item. Any other missing value is an error.

// origin records where a missing value was looked up: the innermost mapping that exists, and the keys below it. It is undefined for
// values that exist.
type origin struct {
	in   map[string]any // nil = not known
	list string         // the mapping that contains the list of objects: .children.
	path []string       // keys such as in .a.b
	keys []parse.Node   // then keys that are arguments of a function
}

// origins are the relevant origins of the arguments of a function.
type origins struct {
	first, lacking origin // of the first argument, and of the first missing argument
	lacks          bool
}

func (o *origins) note(i int, v any, from origin) {
	if i == 0 {
		o.first = from
	}
	if v == nil && !o.lacks {
		o.lacking, o.lacks = from, true
	}
}

// lookedUp returns the origin of a function's missing result. first is the origin of its first argument.
func lookedUp(name string, yields any, args []any, nodes []parse.Node, first origin) origin {
	switch {
	case yields != nil:
		return origin{}
	case name == "first" || name == "last":
		return first
	case (name == "condition" || name == "since") && len(args) == 2:
		object, _ := args[1].(map[string]any)
		return origin{in: object, path: conditionsPath}
	case name != "index" && name != "get" || len(args) < 2:
		return origin{}
	case args[0] == nil:
		return first // the following keys add nothing
	}
	at := origin{}
	v := args[0]
	for i, key := range args[1:] {
		switch in := v.(type) {
		case map[string]any:
			text, _ := key.(string)
			at = origin{in: in}
			if i+1 < len(nodes) {
				at.keys = nodes[i+1:]
			}
			v = in[text]
		case []any:
			n, _ := key.(int64)
			if n < 0 || n >= int64(len(in)) {
				if i == 0 {
					return first
				}
				return at
			}
			v = in[n]
		default:
			return at
		}
	}
	return at
}

// costWait is the cost of the error that a template waits, without its message, and of the error that it replaces.
const costWait = 8 * budget.CostStep

var conditionsPath = []string{"status", "conditions"}

// waitFor returns the error that the template waits for the missing value at a node, or nil if waiting would not help.
func (x *exec) waitFor(o origin, n parse.Node) error {
	if x.unit.Purpose == syntax.ForStatus && (o.list == ".children." || o.list == ".observed.") {
		return x.src.ErrorAt(syntax.Start(n), syntax.Missing, "waiting for an object of "+o.list+o.path[0])
	}
	if o.in == nil {
		return nil
	}
	at, ok, err := x.locate(o.in)
	if err != nil || !ok {
		return x.located(err, n)
	}
	path, err := x.pathOf(o, at)
	if err != nil {
		return x.located(err, n)
	}
	if x.in.MayHave != nil && !x.in.MayHave(at.object, path) {
		return nil
	}
	x.hide(path[:len(path)-len(o.path)-len(o.keys)])
	message := x.unit.Text.Name + " waits for " + dotted(path) + " of " + named(at.object)
	if err := x.Charge(costWait + budget.CostGrown*len(message)); err != nil {
		return x.located(err, n)
	}
	return x.src.ErrorAt(syntax.Start(n), syntax.Missing, message)
}

// orWaitFor returns the error of waitFor, or else err.
func (x *exec) orWaitFor(o origin, n parse.Node, err error) error {
	if wait := x.waitFor(o, n); wait != nil {
		return wait
	}
	return err
}

// pathOf returns the path of a missing value in its object.
func (x *exec) pathOf(o origin, at location) ([]string, error) {
	path, err := x.locations.path(at, &x.Meter)
	if err != nil {
		return nil, err
	}
	path = append(path, o.path...)
	for _, n := range o.keys {
		key := masked // the key may come from data
		if text, isText := n.(*parse.StringNode); isText {
			key = text.Text
		}
		path = append(path, key)
	}
	return path, nil
}

// masked replaces a key that must not appear in a message.
const masked = "…"

// hide replaces the keys of an object that the author did not write in a template.
func (x *exec) hide(keys []string) {
	for i, key := range keys {
		if !x.program.mentions(key) {
			keys[i] = masked
		}
	}
}

// dotted returns a path in template syntax.
func dotted(path []string) string {
	var out strings.Builder
	for _, key := range path {
		if strings.ContainsAny(key, "./ ") {
			out.WriteString("['" + key + "']")
		} else {
			out.WriteString("." + key)
		}
	}
	return out.String()
}

// named returns the kind, namespace and name of an object.
func named(object map[string]any) string {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		name = namespace + "/" + name
	}
	return kind + " " + name
}

// optional returns the value of a pipeline. In the status template, a field that another object does not have yet counts as empty:
// printing it omits the key or list item.
func (x *exec) optional(dot any, pipe *parse.PipeNode) (any, error) {
	v, err := x.pipeline(dot, pipe)
	if err != nil && x.leavesOut(err) {
		return nil, nil //nolint:nilnil // nothing is a value
	}
	return v, err
}

// leavesOut reports whether the template omits the value that an error is about.
func (x *exec) leavesOut(err error) bool {
	at, ok := x.placed(err).(*syntax.Error) //nolint:errorlint // placed has unwrapped it
	return ok && at.Reason == syntax.Missing && x.unit.Purpose == syntax.ForStatus
}

// printNothing prints the mark of a value that is still missing.
func (x *exec) printNothing(n parse.Node) error {
	return x.located(x.out.value(x, token.Missing{}, n), n)
}
