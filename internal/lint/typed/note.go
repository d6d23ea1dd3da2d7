package typed

import (
	"cmp"
	"fmt"
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
	offset, length int        // in bytes of what is parsed
	node           parse.Node // what it is, where that tells the length
}

// spot is a place without its length.
type spot struct {
	text   *syntax.Text
	offset int
}

func (p place) spot() spot { return spot{p.text, p.offset} }

// end returns the offset behind it.
func (p place) end() int {
	if p.node != nil {
		return p.offset + len(p.node.String())
	}
	return p.offset + p.length
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
	if c.dead == 0 || c.depth == 0 {
		c.notes = append(c.notes, n)
	}
	if len(c.notes) >= maxNotes {
		c.gaveUp = true
	}
	return n
}

// resolved notes that a key is there for one of those that ask at a place: it is no misspelling.
func (c *checker) resolved(at place) { c.fine[at.spot()] = true }

// fails makes findings of notes on which rendering stops, if it gets there.
func (c *checker) fails(notes ...*note) {
	if c.dead > 0 {
		return
	}
	for _, n := range notes {
		n.raise(c.gravest())
	}
}

// errorf notes that rendering fails here, if it gets here.
func (c *checker) errorf(code finding.Code, at place, format string, args ...any) {
	c.say(c.gravest(), code, at, format, args...)
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
	return place{text: c.src, offset: syntax.Start(n), node: n}
}

// keyAt returns the place of the i-th key of a path that is written with dots and begins at an offset.
func (c *checker) keyAt(offset int, keys []string, i int) place {
	for _, key := range keys[:i] {
		offset += len(key) + 1
	}
	return place{text: c.src, offset: offset + 1, length: len(keys[i])}
}

// inString returns the place of a word in a string of the author.
func (c *checker) inString(n *parse.StringNode, word string) place {
	i := strings.Index(n.Quoted, word)
	if i < 0 {
		return c.at(n)
	}
	return place{text: c.src, offset: int(n.Pos) + i, length: len(word)}
}

// findings returns what is to be told.
func (c *checker) findings() []finding.Finding {
	worst := map[spot]finding.Severity{}
	for _, n := range c.notes {
		if n.severity == finding.Error {
			worst[n.at.spot()] = finding.Error
		}
	}
	var kept []*note
	told := map[spot]bool{}
	for _, n := range c.notes {
		if n.severity == "" || n.severity != finding.Error && (worst[n.at.spot()] != "" || c.excused(n)) || told[n.at.spot()] {
			continue
		}
		told[n.at.spot()] = true
		kept = append(kept, n)
	}
	slices.SortStableFunc(kept, func(a, b *note) int { return cmp.Compare(a.at.offset, b.at.offset) }) // which makes positions cheap
	all, positions := c.more, syntax.Positions{}
	for _, n := range kept {
		all = append(all, c.finding(n, positions))
	}
	return finding.Sort(all)
}

// excused reports whether what a warning is about is provided for elsewhere.
func (c *checker) excused(n *note) bool {
	if n.code == finding.UnknownField && (c.fine[n.at.spot()] || c.gaveUp || c.partial[n.at.text]) {
		return true
	}
	for _, step := range n.unless {
		if !c.tested[step] {
			return false
		}
	}
	return len(n.unless) > 0
}

func (c *checker) finding(n *note, positions syntax.Positions) finding.Finding {
	f := finding.Finding{Code: n.code, Severity: n.severity, Where: n.at.text.Name, Message: n.message, Replacement: n.replacement}
	f.Line, f.Column = positions.Of(n.at.text, n.at.offset)
	if line, column := positions.Of(n.at.text, n.at.end()); line == f.Line {
		f.Length = column - f.Column
	}
	switch {
	case n.message != "":
	case n.code == finding.NoFields:
		f.Message = fmt.Sprintf("%s is %s, so there is no .%s in it%s", n.of.words(), n.kinds.Words(), n.key, c.instead(n.of, n.key))
	default:
		f.Message, f.Replacement = c.unknownWords(n)
	}
	f.Message = syntax.OneLine(f.Message)
	return f
}

// knownKeys returns the keys of a map in order, or none if there are too many to look at.
func (c *checker) knownKeys(v *value) []string {
	const cost = 10
	data, _ := v.data.(map[string]any)
	n := len(data) + len(v.keys)
	if v.of != nil {
		n += len(v.of.Fields)
	}
	if c.looks -= cost * n; c.looks < 0 {
		return nil
	}
	switch {
	case data != nil:
		return sortedKeys(data)
	case v.keys != nil:
		return sortedKeys(v.keys)
	case v.of != nil:
		return sortedKeys(v.of.Fields)
	}
	return nil
}

// unknownWords says that there is no such field, and what may have been meant.
func (c *checker) unknownWords(n *note) (message, replacement string) {
	known := c.knownKeys(n.in)
	nearest := c.nearest(n.key, known)
	where, sure := c.elsewhere(n.of, n.key)
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
