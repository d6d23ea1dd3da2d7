package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Limits for one spec. A spec that exceeds them is rejected before it is compiled.
const (
	// maxOperands limits the size of all templates, in units of syntax.Operands.
	maxOperands = 50_000
	// maxValues limits the number of keys and items in spec.values.
	maxValues = 50_000
)

// Memory of a compiled spec in bytes, determined from worst cases: see TestSizeBoundsMemoryOfSpec.
const (
	textBytes    = 2   // per byte of text: decoded, and in the parsed template
	lineBytes    = 4   // in addition, per line
	operandBytes = 160 // per unit of syntax.Operands
	mapBytes     = 320 // per mapping in spec.values, with one key
	itemBytes    = 80  // per additional key or item
	restBytes    = 3   // per byte of JSON of everything else
	commaBytes   = 160 // per comma in that JSON: labels of selectors are separated by commas
	// leastBytes is the memory for a minimal TemplateController, with its status, metrics and data for its reconciliations. See
	// TestWhatATemplateControllerTakes in internal/operator/controllers.
	leastBytes = 16 << 10
)

// Size estimates the memory of a compiled spec in bytes. It only reads the text, and tends to overestimate. For a spec that is too large, only
// the uncompiled parts count, because it is never compiled.
func Size(spec *v1.TemplateControllerSpec) int {
	n := countAll(spec)
	least := leastBytes + restBytes*n.rest + commaBytes*n.commas
	if n.tooLarge() != nil {
		return least
	}
	return least + textBytes*n.text + lineBytes*n.lines + operandBytes*n.operands + mapBytes*n.maps + itemBytes*n.items
}

// counts measures the input of a compilation.
type counts struct {
	text, lines int    // bytes of templates and of spec.values, and lines of templates
	operands    int    // in units of syntax.Operands
	largest     string // the template with the most operands
	maps, items int    // see countValues
	rest        int    // bytes of JSON without templates and values
	commas      int    // in that JSON
}

func countAll(spec *v1.TemplateControllerSpec) counts {
	var n counts
	most := 0
	for _, t := range texts(spec) {
		here := syntax.Operands(t.Text, spec.Delimiters.Left, spec.Delimiters.Right)
		if n.operands += here; here > most {
			most, n.largest = here, t.Name
		}
		n.text += len(t.Text)
		n.lines += strings.Count(t.Text, "\n")
	}
	if spec.Values != nil {
		n.text += len(spec.Values.Raw)
		n.maps, n.items = countValues(spec.Values.Raw)
	}
	rest := restOf(spec)
	n.rest, n.commas = len(rest), bytes.Count(rest, []byte{','})
	return n
}

// restOf returns a spec as JSON, without templates and spec.values.
func restOf(spec *v1.TemplateControllerSpec) []byte {
	rest := *spec
	rest.Helpers, rest.Values, rest.Status, rest.Watch.Filter = "", nil, nil, ""
	rest.Related = slices.Clone(rest.Related)
	for i := range rest.Related {
		rest.Related[i].Select = ""
	}
	rest.Children = withoutTemplates(rest.Children)
	if rest.Finalize != nil {
		finalize := *rest.Finalize
		finalize.Children = withoutTemplates(finalize.Children)
		rest.Finalize = &finalize
	}
	text, _ := json.Marshal(rest) // it was read from JSON
	return text
}

func withoutTemplates(entries []v1.Child) []v1.Child {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Template, entries[i].ReadyWhen = "", ""
	}
	return entries
}

// checkSize returns why a spec is too large to be compiled, or nil.
func checkSize(spec *v1.TemplateControllerSpec) *Rejection { return countAll(spec).tooLarge() }

func (n counts) tooLarge() *Rejection {
	if n.operands > maxOperands {
		r := wrong(finding.TooMuch, n.largest, "the templates have %d actions and operands in total, most of them here; the limit is %d: split the TemplateController", n.operands, maxOperands)
		r.Reason = v1.ReasonInvalidTemplate
		return r
	}
	if all := n.maps + n.items; all > maxValues {
		return wrong(finding.TooMuch, "spec.values", "there are %d keys and items; the limit is %d: split the TemplateController", all, maxValues)
	}
	return nil
}

// texts returns all texts of a spec that are parsed, by their names in findings.
func texts(spec *v1.TemplateControllerSpec) []syntax.Template {
	all := []syntax.Template{{Name: "helpers", Text: spec.Helpers}}
	add := func(name, text string) { all = append(all, syntax.Template{Name: name, Text: text}) }
	addExpression := func(name, text string) {
		if text != "" {
			add(name, cmp.Or(spec.Delimiters.Left, "{{")+text+cmp.Or(spec.Delimiters.Right, "}}"))
		}
	}
	for _, related := range spec.Related {
		add(syntax.SelectName(related.Name), related.Select)
	}
	for child := range allEntries(spec) {
		add(syntax.ChildName(child.Name), child.Template)
		addExpression(syntax.ReadyWhenName(child.Name), child.ReadyWhen)
	}
	if spec.Status != nil {
		add("status", spec.Status.Template)
	}
	addExpression(syntax.FilterName, spec.Watch.Filter)
	return all
}

// countValues counts the mappings of spec.values as JSON, and the other keys and items. Text is not counted.
func countValues(values []byte) (maps, items int) {
	quoted := false
	for i := 0; i < len(values); i++ {
		switch c := values[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{':
			maps++
		case c == ',' || c == '[':
			items++
		}
	}
	return maps, items
}
