package typed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/schema"
)

// place is where something stands in a template.
type place struct {
	text           *syntax.Text
	offset, length int // in bytes of what is parsed
}

// note is what may become a finding: what is missing is one only where somebody needs it.
type note struct {
	code     finding.Code
	severity finding.Severity // "" = it is none yet
	at       place
	message  string // or else it is made of these:
	of       *origin
	in       *value
	key      string
	kinds    schema.Kinds
	// replacement is what to write in place of what is there.
	replacement string
	// unless is a step that no condition may look at, if it is to be told.
	unless []string
}

// raise makes it at least that severe.
func (n *note) raise(s finding.Severity) {
	if n.severity != finding.Error {
		n.severity = s
	}
}

// note begins a note.
func (c *checker) note(code finding.Code, at place) *note {
	n := &note{code: code, at: at}
	if len(c.notes) < maxNotes && (c.dead == 0 || c.depth == 0) {
		c.notes = append(c.notes, n)
	}
	return n
}

// resolved notes that a key is there for one of those that ask at a place: it is no misspelling.
func (c *checker) resolved(at place) { c.fine[place{at.text, at.offset, 0}] = true }

// fails makes findings of notes on which rendering stops, if it gets there.
func (c *checker) fails(notes ...*note) {
	if c.dead > 0 {
		return
	}
	for _, n := range notes {
		n.severity = finding.Error
	}
}

// errorf notes that rendering fails here.
func (c *checker) errorf(code finding.Code, at place, format string, args ...any) {
	c.say(finding.Error, code, at, format, args...)
}

// warnf notes that something is probably not as meant.
func (c *checker) warnf(code finding.Code, at place, format string, args ...any) *note {
	return c.say(finding.Warning, code, at, format, args...)
}

func (c *checker) say(s finding.Severity, code finding.Code, at place, format string, args ...any) *note {
	if c.dead > 0 {
		return &note{}
	}
	n := c.note(code, at)
	n.message, n.severity = fmt.Sprintf(format, args...), s
	return n
}

// at returns the place of a node.
func (c *checker) at(n parse.Node) place {
	return place{c.src, syntax.Start(n), len(n.String())}
}

// keyAt returns the place of the i-th key of a path that is written with dots and begins at an offset.
func (c *checker) keyAt(offset int, keys []string, i int) place {
	for _, key := range keys[:i] {
		offset += len(key) + 1
	}
	return place{c.src, offset + 1, len(keys[i])}
}

// inString returns the place of a word in a string of the author.
func (c *checker) inString(n *parse.StringNode, word string) place {
	i := strings.Index(n.Quoted, word)
	if i < 0 {
		return c.at(n)
	}
	return place{c.src, int(n.Pos) + i, len(word)}
}

// findings returns what is to be told.
func (c *checker) findings() []finding.Finding {
	worst := map[place]finding.Severity{}
	for _, n := range c.notes {
		if n.severity == finding.Error {
			worst[n.at] = finding.Error
		}
	}
	var all []finding.Finding
	told := map[place]bool{}
	for _, n := range c.notes {
		if n.severity == "" || n.severity != finding.Error && (worst[n.at] != "" || c.excused(n)) || told[n.at] {
			continue
		}
		told[n.at] = true
		all = append(all, c.finding(n))
	}
	return finding.Sort(all)
}

// excused reports whether what a warning is about is provided for elsewhere.
func (c *checker) excused(n *note) bool {
	if n.code == finding.UnknownField && (c.fine[place{n.at.text, n.at.offset, 0}] || c.gaveUp) {
		return true
	}
	for _, step := range n.unless {
		if !c.tested[step] {
			return false
		}
	}
	return len(n.unless) > 0
}

func (c *checker) finding(n *note) finding.Finding {
	f := finding.Finding{Code: n.code, Severity: n.severity, Where: n.at.text.Name, Message: n.message, Replacement: n.replacement}
	f.Line, f.Column = n.at.text.Position(n.at.offset)
	if line, column := n.at.text.Position(n.at.offset + n.at.length); line == f.Line {
		f.Length = column - f.Column
	}
	switch {
	case n.message != "":
	case n.code == finding.NoFields:
		f.Message = fmt.Sprintf("%s is %s, so there is no .%s in it%s", n.of.words(), kindWords(n.kinds), n.key, n.of.instead(n.key))
	default:
		f.Message, f.Replacement = c.unknownWords(n)
	}
	f.Message = syntax.OneLine(f.Message)
	return f
}

// known returns the keys that there are where another one was asked for.
func (n *note) known() map[string]bool {
	known := map[string]bool{}
	switch data, isMap := n.in.data.(map[string]any); {
	case isMap:
		for key := range data {
			known[key] = true
		}
	case n.in.keys != nil:
		for key := range n.in.keys {
			known[key] = true
		}
	case n.in.of != nil:
		for key := range n.in.of.Fields {
			known[key] = true
		}
	}
	return known
}

// unknownWords says that there is no such field, and what may have been meant.
func (c *checker) unknownWords(n *note) (message, replacement string) {
	known := slices.Sorted(maps.Keys(n.known()))
	nearest := c.nearest(n.key, known)
	where, sure := n.of.elsewhere(n.key)
	hint := ""
	switch {
	case n.of != nil && neverSeen[n.of.path+"."+n.key]:
		hint = ": templates do not see it, as it changes all the time"
	case nearest != "" && !sure:
		hint, replacement = "; did you mean "+nearest+"?", nearest
	case where != "":
		hint, replacement = "; it is in "+where, below(n.of, where, n.key)
	case nearest != "":
		hint, replacement = "; did you mean "+nearest+"?", nearest
	case len(known) > 0 && len(known) <= 12:
		hint = "; known: " + strings.Join(known, " ")
	}
	always := ""
	if n.severity == finding.Warning {
		always = ", so it is always missing"
	}
	switch {
	case n.of == nil || n.of.from == fromTemplate:
		return fmt.Sprintf("there is no .%s in this map%s%s", n.key, always, hint), replacement
	case n.of.from == fromValues:
		return fmt.Sprintf("spec.values has no %s%s%s", strings.TrimPrefix(n.of.path+"."+n.key, "."), always, hint), replacement
	}
	return fmt.Sprintf("%s has no field %s.%s%s%s", n.of.object, n.of.path, n.key, always, hint), replacement
}

// words names what a value is in words of the author.
func (o *origin) words() string {
	switch {
	case o == nil:
		return "the value"
	case o.from == fromValues:
		return ".values" + o.path
	case o.path == "":
		return o.object
	}
	return o.path + " of " + o.object
}

// kindWords says what a value may be.
func kindWords(kinds schema.Kinds) string {
	var words []string
	for _, k := range []struct {
		kinds schema.Kinds
		words string
	}{{str, "a string"}, {number, "a number"}, {boolean, "a boolean"}, {list, "a list"}, {mapping, "a map"}, {null, "missing"}} {
		if kinds&k.kinds != 0 {
			words = append(words, k.words)
		}
	}
	return strings.Join(words, " or ")
}
