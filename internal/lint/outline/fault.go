package outline

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/yamlerror"
)

// What finding faults may cost. What is beyond is not looked at.
const (
	longest = 128 << 10 // text of a template, and what it yields in one way, in bytes
	maxRead = 256 << 10 // text that is read as YAML, of all templates
)

// Fault is where a template prints what is no YAML.
type Fault struct {
	Offset, Length int // in bytes of the template
	Message        string
	// Certain says that each rendering fails there. Else some do, unless what decides about branches says otherwise.
	Certain bool
}

// Finder finds faults. It is for one TemplateController, and not safe for concurrent use.
type Finder struct {
	// Pause is called now and then. An error ends the work, and then what is found means nothing; nil = there are no pauses.
	Pause func() error

	prints      Classifier
	read, marks int // bytes that are read as YAML, and marks
}

// Faults returns the faults of a template: at most the first one in the way that takes each branch, and that in the way which takes
// none. It says nothing where it depends on more than one branch, or on text that nobody knows, whether there is one.
func (f *Finder) Faults(u *syntax.Unit, prints Classifier) []Fault {
	f.prints = prints
	content := u.Text.Content
	if pause(f.Pause).ended() || len(content) > longest || strings.ContainsAny(content, string(value)+unsettled) {
		return nil
	}
	var all []Fault
	for rounds := 1; rounds >= 0; rounds-- {
		w := follow(u, f.prints, func(parse.Node, int) int { return rounds })
		if found, ok := f.of(u, w); ok && !slices.ContainsFunc(all, func(o Fault) bool { return o.Offset == found.Offset }) {
			all = append(all, found)
		}
		if len(w.nodes) == 0 || len(all) > 0 && all[0].Certain {
			break
		}
	}
	return all
}

// of returns the first fault in one way.
func (f *Finder) of(u *syntax.Unit, w *way) (Fault, bool) {
	if err := f.first(w, w.sure); err != nil && w.whole(err.Mark.Line) {
		found := w.explain(err)
		found.Certain = true
		return found, true
	}
	if w.sure < 0 {
		return Fault{}, false
	}
	err := f.first(w, -1)
	if err == nil || w.unclear(u, err) || !f.confirmed(u, w, err.Mark) {
		return Fault{}, false
	}
	return w.explain(err), true
}

// whole reports whether all of a line is sure: the library looks ahead in it.
func (w *way) whole(line int) bool {
	return w.sure < 0 || line < len(w.lineStarts()) && w.lineStarts()[line] <= w.sure
}

// errUnknown is in place of what comes behind the text that is known.
var errUnknown = errors.New("what follows is not known")

// first returns the first error of what a way yields up to an offset, whatever follows, or nil. An offset of -1 is for all of it, and
// nothing follows.
func (f *Finder) first(w *way, to int) *yaml.LoadError {
	from, size := io.Reader(bytes.NewReader(w.out)), len(w.out)
	if to >= 0 {
		from, size = io.MultiReader(bytes.NewReader(w.out[:to]), failing{}), to
	}
	marks := countMarks(w.out[:size])
	if len(w.out) > longest || f.read+size > maxRead || f.marks+marks > maxMarks {
		return nil
	}
	f.read, f.marks = f.read+size, f.marks+marks
	loader, err := pause(f.Pause).loader(from)
	for {
		var n yaml.Node
		if err == nil {
			err = loader.Load(&n)
		}
		if err == nil {
			continue
		}
		load, ok := errors.AsType[*yaml.LoadError](err)
		if !ok || load.Stage != "scanner" && load.Stage != "parser" && load.Stage != "composer" {
			return nil
		}
		return load
	}
}

// failing is a reader of text that is not known.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errUnknown }

// explain says where in the template an error is from, and what it means.
func (w *way) explain(err *yaml.LoadError) Fault {
	fault := yamlerror.Explain(err, yamlerror.Text{Line: w.line, Name: func(n int) string { return yamlerror.Quote(w.lineInTemplate(w.start(n))) }})
	at := w.origin(w.offset(fault.Line, fault.Column))
	rest, _, _ := strings.Cut(w.text.Content[min(at, len(w.text.Content)):], "\n")
	fault.What = "YAML: " + fault.What
	return Fault{Offset: at, Length: len(strings.TrimRight(rest, " \r")), Message: fault.String()}
}

// start returns the offset of the first character of a line that is no space.
func (w *way) start(n int) int {
	return w.offset(n, 1+len(w.line(n))-len(strings.TrimLeft(w.line(n), " ")))
}

// line returns a line of what is yielded, from 1.
func (w *way) line(n int) string {
	starts := w.lineStarts()
	if n < 1 || n > len(starts) {
		return ""
	}
	line, _, _ := bytes.Cut(w.out[starts[n-1]:], []byte("\n"))
	return strings.TrimSuffix(string(line), "\r")
}

func (w *way) lineStarts() []int {
	if w.starts == nil {
		w.starts = []int{0}
		for i, c := range w.out {
			if c == '\n' {
				w.starts = append(w.starts, i+1)
			}
		}
	}
	return w.starts
}

// offset returns that of a line and a column, both from 1.
func (w *way) offset(line, column int) int {
	starts := w.lineStarts()
	if line < 1 || line > len(starts) {
		return len(w.out)
	}
	at := starts[line-1]
	for ; column > 1 && at < len(w.out); column-- {
		_, size := utf8.DecodeRune(w.out[at:])
		at += size
	}
	return at
}

// lineInTemplate returns the line of the template that a byte is from.
func (w *way) lineInTemplate(offset int) string {
	from, to := w.span(w.origin(offset))
	return w.text.Content[from:to]
}

// span returns where the line of the template begins and ends that an offset is in.
func (w *way) span(at int) (from, to int) {
	content := w.text.Content
	at = min(at, len(content))
	to = len(content)
	if i := strings.IndexByte(content[at:], '\n'); i >= 0 {
		to = at + i
	}
	return strings.LastIndexByte(content[:at], '\n') + 1, to
}
