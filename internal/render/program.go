package render

import (
	"fmt"
	"slices"
	"sync"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// Program is a compiled [Source]. It is safe for concurrent use.
type Program struct {
	seen      data.Fixed
	children  map[string]*unit
	readyWhen map[string]*unit // by the name of the child template; nil if none has one
	status    *unit            // nil if there is no status template
	filter    *unit            // nil if there is no filter
	selects   map[string]*unit
	texts     []*syntax.Text // all of them, as written
	marker    string
	templates syntax.Templates
	reads     syntax.Reads
	awaits    map[string][]string // by the name of the child template; nil if none waits for others
	pool      sync.Pool           // of *exec
	words     func() map[string]bool
}

// unit is one template, with the cache of its parsed output.
type unit struct {
	*syntax.Unit
	shapes document.Shapes
}

// Compile parses and checks all templates. The error is a [syntax.Errors] with all findings, or the error of Source.Pause.
func Compile(src Source) (*Program, error) {
	p, err := CompilePartial(src)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// CompilePartial is like Compile, but also returns a program if the error is a [syntax.Errors]. This program contains the templates
// without errors. It is only for checks and must not be executed. It is nil if the faulty templates cannot be separated from the
// others.
func CompilePartial(src Source) (*Program, error) {
	t, err := syntax.Parse(syntax.Source{
		LeftDelim: src.LeftDelim, RightDelim: src.RightDelim, Helpers: src.Helpers, Children: src.Children, ReadyWhen: src.ReadyWhen, Filter: src.Filter, FilterSeesStatus: src.FilterSeesStatus, Status: src.Status, Related: src.Related, Logs: src.Logs, Functions: funcs.Allowed(), Pause: src.Pause,
	})
	if err != nil && t.Names != nil {
		return &Program{seen: data.Fixed{Values: src.Values}, templates: t}, err
	}
	if err != nil {
		return nil, err
	}
	p := &Program{seen: data.Fixed{Controller: src.Controller, Values: src.Values, Children: t.Names, Related: t.Related}, children: make(map[string]*unit, len(t.Children)), texts: t.Texts, reads: t.Reads, templates: t}
	for i, child := range t.Children {
		p.children[src.Children[i].Name] = &unit{Unit: child}
		if len(t.Awaits[i]) > 0 {
			if p.awaits == nil {
				p.awaits = map[string][]string{}
			}
			p.awaits[src.Children[i].Name] = t.Awaits[i]
		}
	}
	for i, e := range t.ReadyWhen {
		if p.readyWhen == nil {
			p.readyWhen = make(map[string]*unit, len(t.ReadyWhen))
		}
		p.readyWhen[src.ReadyWhen[i].Name] = &unit{Unit: e}
	}
	if t.Filter != nil {
		p.filter = &unit{Unit: t.Filter}
	}
	if t.Status != nil {
		p.status = &unit{Unit: t.Status}
	}
	for i, u := range t.Selects {
		if u != nil {
			p.addSelect(src.Related[i].Name, u)
		}
	}
	p.words = sync.OnceValue(p.allWords)
	contents := make([]string, len(p.texts))
	for i, text := range p.texts {
		contents[i] = text.Content
	}
	if p.marker = token.ChooseMarker(contents); p.marker == "" {
		return nil, syntax.Errors{{Template: "helpers", Reason: syntax.Invalid, Code: finding.TooMuch, Message: "the templates use every private-use character of Unicode"}}
	}
	return p, nil
}

// Without returns a program without the templates of these names, and reports whether there were any. The result is only for checks
// and must not be executed.
func (p *Program) Without(names map[string]bool) (rest *Program, had bool) {
	templates, had := p.templates.Without(names)
	return &Program{seen: p.seen, templates: templates}, had
}

// Awaits returns the names of the other child templates whose objects this child template reads as .children.NAME, sorted. Other ways
// to read them, such as index, are not detected.
func (p *Program) Awaits(name string) []string { return p.awaits[name] }

// Reads returns which of the data that changes with their own output the templates read. It may report too much, but never too little.
func (p *Program) Reads() syntax.Reads { return p.reads }

// Templates returns the parsed templates. They must not be modified.
func (p *Program) Templates() *syntax.Templates { return &p.templates }

// Values returns the value of .values. It must not be modified.
func (p *Program) Values() map[string]any { return p.seen.Values }

// Wrote reports whether the author of the templates wrote this word: it occurs in a template, or is a key or string in spec.values.
// Other keys in the output come from data or were computed from it, so no message may contain them.
func (p *Program) Wrote(word string) bool {
	return slices.ContainsFunc(p.texts, func(t *syntax.Text) bool { return t.Has(word) }) || holds(p.seen.Values, word)
}

// mentions reports whether the author wrote this word in a template, also as a key of a path. Unlike that of Wrote, its cost does not
// depend on the length of the templates.
func (p *Program) mentions(word string) bool { return p.words()[word] }

// allWords returns the words of the templates.
func (p *Program) allWords() map[string]bool {
	all := map[string]bool{}
	for _, t := range p.texts {
		for word := range t.Words() {
			all[word] = true
		}
	}
	return all
}

// holds reports whether a word is a key or string in plain data.
func holds(data any, word string) bool {
	switch data := data.(type) {
	case map[string]any:
		for key, value := range data {
			if key == word || holds(value, word) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(data, func(item any) bool { return holds(item, word) })
	case string:
		return data == word
	}
	return false
}

// Child renders a child template. The error is an [*Error].
func (p *Program) Child(name string, in *Input) ([]Object, error) {
	u, ok := p.children[name]
	if !ok {
		return nil, &syntax.Error{Template: syntax.ChildName(name), Reason: syntax.Invalid, Message: "this child has no template"}
	}
	var objects []Object
	err := p.render(u, in, func(x *exec, d document.Document) error {
		if len(objects) == maxDocuments {
			return budget.Error(fmt.Sprintf("the template renders more than %d objects", maxDocuments))
		}
		content, err := d.Object()
		if err != nil {
			return err
		}
		if in.Place != nil {
			x.places(len(objects), d)
		}
		objects = append(objects, Object{Content: content, Line: x.line(d.Offset())})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return objects, nil
}

// Status renders the status template. It returns nil if there is none, and an empty map if the output is empty. The error is an
// [*Error].
func (p *Program) Status(in *Input) (map[string]any, error) {
	if p.status == nil {
		return nil, nil
	}
	status := map[string]any{}
	found := false
	err := p.render(p.status, in, func(_ *exec, d document.Document) error {
		if found {
			return d.Errorf("the status template must render a single YAML document: remove everything after ---")
		}
		found = true
		v, err := d.Value()
		if err != nil {
			return err
		}
		m, ok := v.(map[string]any)
		if !ok {
			return d.Errorf("the status template must render a map, not %s", token.KindOf(v))
		}
		status = m
		return nil
	})
	if err != nil {
		return nil, err
	}
	return status, nil
}

// render executes a template, and calls do with each document of its output.
func (p *Program) render(u *unit, in *Input, do func(*exec, document.Document) error) error {
	return p.execute(u, in, func(x *exec) error {
		if err := x.invoke("", &x.view.Root); err != nil {
			return x.located(err, u.Body())
		}
		err := u.shapes.Read(&x.Table, x.out.buf, func(d document.Document) error { return do(x, d) })
		if err = x.mapped(err); err != nil {
			return err
		}
		return x.out.misplaced(x.Marker)
	})
}

// execute calls do with an exec for this template.
func (p *Program) execute(u *unit, in *Input, do func(*exec) error) (err error) {
	x := p.start(u, in)
	defer func() {
		x.GiveBack()
		if recover() != nil {
			// The exec is not reused, because its state is undefined.
			err = x.panicked(panicSite())
			return
		}
		p.finish(x)
	}()
	return do(x)
}

// start prepares an exec for one execution.
func (p *Program) start(u *unit, in *Input) *exec {
	x, _ := p.pool.Get().(*exec)
	if x == nil {
		x = &exec{out: &output{}, program: p}
		x.Marker = p.marker
	}
	x.Meter = x.allowance(in)
	x.unit, x.in, x.src = u, in, u.Text
	x.Ready, x.Logs, x.Passed = in.Ready, in.Logs, in.Passed
	x.view.Open(&p.seen, data.Input{Parent: in.Parent, Observed: in.Observed, Related: in.Related}, u.Purpose, &x.Meter)
	return x
}

// allowance returns the part of the reconciliation's budget that an execution may use, or of its own budget.
func (x *exec) allowance(in *Input) budget.Meter {
	pass := in.Budget
	if pass == nil {
		pass = &x.own
		pass.Begin(nil)
	}
	return pass.Draw(in.Pause)
}

// finish drops all data of an execution, but keeps its memory for reuse unless it has grown large. The variables were removed with
// their blocks.
func (p *Program) finish(x *exec) {
	const large = 64 << 10
	if cap(x.out.buf) > large || cap(x.out.pieces) > large/8 || cap(x.suspects) > large/8 || x.Table.Reset() {
		return
	}
	x.out.reset()
	clear(x.args)
	clear(x.suspects)
	x.args, x.suspects = x.args[:0], x.suspects[:0]
	x.unit, x.in, x.src, x.place, x.included = nil, nil, nil, nil, nil
	x.Ready, x.Logs, x.Passed, x.Patterns = nil, nil, nil, nil
	x.view, x.origin, x.locations = data.View{}, origin{}, locations{}
	p.pool.Put(x)
}

// places calls Input.Place for the fields of an object.
func (x *exec) places(object int, d document.Document) {
	d.Places(func(path string, offset int) {
		if at := x.included.origin(x.out, offset); at.src != nil {
			x.in.Place(object, path, at.src.Name, at.line)
		}
	})
}

// line returns the line of the template that a byte of the output came from, or 0.
func (x *exec) line(offset int) int {
	src, pos := x.out.origin(offset)
	if src == nil {
		return 0
	}
	line, _ := src.Position(pos)
	return line
}
