package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/document"
)

// yamlDocument is one document of a file.
type yamlDocument struct {
	file  string
	first int // first line in the file, from 1
	text  []byte
	lines []string // of text, without line ends
	root  *place   // nil if only the values are known

	mu    sync.Mutex
	spots map[*yaml.Node][]spot // see placesIn
}

// split splits a file at lines that begin with three hyphens, as kubectl does.
func split(file string, text []byte) []*yamlDocument {
	var all []*yamlDocument
	first, from, line := 1, 0, 1
	add := func(to int) {
		if d := (&yamlDocument{file: file, first: first, text: text[from:to]}); !d.empty() {
			all = append(all, d)
		}
	}
	for at := 0; at < len(text); line++ {
		end := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if document.BeginsDocument(string(text[at:end])) {
			add(at)
			// Text after the hyphens belongs to the document: a comment, or the document itself.
			first, from = line, at
		}
		at = end
	}
	add(len(text))
	return all
}

// empty reports whether the document has only comments, blank lines and document markers.
func (d *yamlDocument) empty() bool {
	for line := range bytes.Lines(d.text) {
		if document.BeginsDocument(string(line)) {
			line = line[3:]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "..." {
			return false
		}
	}
	return true
}

// found is an object, or something similar, in a document.
type found struct {
	content map[string]any
	at      *place
}

func (f found) isObject() bool {
	apiVersion, _ := f.content["apiVersion"].(string)
	kind, _ := f.content["kind"].(string)
	return apiVersion != "" && kind != ""
}

// objects returns the objects of a document: one object, or the items of a List, as kubectl get -o yaml prints.
func (d *yamlDocument) objects() ([]found, error) {
	d.readLines()
	if err := d.parse(); err != nil {
		return nil, err
	}
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, nil
	}
	content, _ := value.(map[string]any)
	whole := found{content, d.root}
	items, isList := content["items"].([]any)
	if !isList || !whole.isObject() || content["kind"] != "List" {
		return []found{whole}, d.checkProperties(whole)
	}
	var all []found
	var faults []error
	for i, item := range items {
		content, _ := item.(map[string]any)
		all = append(all, found{content, d.root.get("items").item(i)})
		faults = append(faults, d.checkProperties(all[i]))
	}
	return all, errors.Join(faults...)
}

func (d *yamlDocument) readLines() {
	for line := range bytes.Lines(d.text) {
		d.lines = append(d.lines, strings.TrimRight(string(line), "\r\n"))
	}
}

// parse locates all values of the document.
func (d *yamlDocument) parse() error {
	var node yaml.Node
	if err := yaml.Unmarshal(d.text, &node); err != nil {
		if d.looksLikeJSON() {
			return nil // valid JSON, but invalid YAML: value returns the error, if there is one
		}
		return d.yamlError(err)
	}
	if len(node.Content) == 0 {
		return nil
	}
	d.root = &place{node: node.Content[0], key: node.Content[0]}
	if expandedSize(&node, map[*yaml.Node]int{}) > largestFile {
		return &Error{File: d.file, Line: d.first, Message: fmt.Sprintf("the aliases (*name) expand to more than %d MiB: write fewer of them", largestFile>>20)}
	}
	return d.checkKeys(node.Content[0])
}

// expandedSize returns the approximate size of a node in bytes after replacing its aliases, or more than largestFile. sizes has the sizes of anchors.
func expandedSize(n *yaml.Node, sizes map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		return sizes[n.Alias] // an anchor precedes its aliases; an anchor that contains its own alias is rejected later
	}
	size := len(n.Value) + 1
	for _, child := range n.Content {
		size = min(size+expandedSize(child, sizes), largestFile+1)
	}
	if n.Anchor != "" {
		sizes[n] = size
	}
	return size
}

func (d *yamlDocument) looksLikeJSON() bool {
	return bytes.HasPrefix(bytes.TrimSpace(d.text), []byte("{"))
}

// value decodes the document as kubectl does: with the booleans of YAML 1.1.
func (d *yamlDocument) value() (any, error) {
	text := d.text
	if !d.looksLikeJSON() || d.root != nil {
		var err error
		if text, err = kyaml.YAMLToJSON(d.text); err != nil {
			return nil, &Error{File: d.file, Line: d.first, Message: plainError(err)}
		}
	}
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		e := &Error{File: d.file, Line: d.first, Message: "invalid JSON: " + plainError(err)}
		if is, offset := kjson.SyntaxErrorOffset(err); is && d.root == nil {
			before := d.text[:min(max(offset-1, 0), int64(len(d.text)))]
			e.Line += bytes.Count(before, []byte("\n"))
			e.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		}
		return nil, e
	}
	return value, nil
}

// checkKeys returns an error for duplicate keys, and for keys that are not strings.
func (d *yamlDocument) checkKeys(n *yaml.Node) error {
	keys := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if child.Kind == yaml.MappingNode || child.Kind == yaml.SequenceNode {
				return d.errorAt(&place{node: child, key: child}, "a key must be a string; a value that begins with { or [, such as {{ .Values.name }}, must be quoted")
			}
			if child.Kind == yaml.ScalarNode && keys[child.Value] && child.Tag != "!!merge" {
				return d.errorAt(&place{node: child, key: child}, "duplicate key %s", short(child.Value))
			}
			keys[child.Value] = true
			continue
		}
		if err := d.checkKeys(child); err != nil {
			return err
		}
	}
	return nil
}

// line returns a line of the document, from 1.
func (d *yamlDocument) line(n int) string {
	if n < 1 || n > len(d.lines) {
		return ""
	}
	return d.lines[n-1]
}

// yamlError returns the error and place of invalid YAML.
func (d *yamlDocument) yamlError(err error) error {
	e := &Error{File: d.file, Line: d.first, Message: plainError(err)}
	var at *yaml.LoadError
	if errors.As(err, &at) {
		fault := document.Explain(at, document.Lines{Line: d.line, Name: func(n int) string { return fmt.Sprintf("line %d", d.first+n-1) }})
		e.Message = "invalid YAML: " + plainError(errors.New(fault.String()))
		if fault.Line > 0 {
			e.Line, e.Column = d.first+fault.Line-1, fault.Column
		}
	}
	return e
}

// plainError returns the message of a parser error on one line.
func plainError(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return short(text)
}

// short truncates text of the author.
func short(text string) string {
	const longest = 200
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// errorAt returns an error with a place, or about the whole document if the place is unknown.
func (d *yamlDocument) errorAt(at *place, format string, args ...any) error {
	e := &Error{File: d.file, Line: d.first, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		e.Line, e.Column = d.first+at.key.Line-1, at.key.Column
	}
	return e
}

func (d *yamlDocument) lineOf(at *place) int {
	if at == nil {
		return d.first
	}
	return d.first + at.key.Line - 1
}

// checkProperties reports keys of CustomResourceDefinitions and TemplateControllers that are booleans in YAML 1.1, which kubectl reads.
func (d *yamlDocument) checkProperties(of found) error {
	kind, _ := of.content["kind"].(string)
	if of.at == nil || !slices.Contains([]string{"CustomResourceDefinition", v1.KindTemplateController, v1.KindNamespacedTemplateController}, kind) {
		return nil
	}
	return d.checkWords(of.at.node)
}

// booleans are words that are booleans in YAML 1.1, and strings in YAML 1.2.
var booleans = map[string]bool{"y": true, "yes": true, "on": true, "n": false, "no": false, "off": false}

// checkWords is checkProperties for all keys of a node.
func (d *yamlDocument) checkWords(n *yaml.Node) error {
	for i, child := range n.Content {
		means, ambiguous := booleans[strings.ToLower(child.Value)]
		if n.Kind == yaml.MappingNode && i%2 == 0 && ambiguous && child.Style == 0 {
			return d.errorAt(&place{node: child, key: child}, "the key %s means %t in YAML 1.1, which kubectl reads: quote it", child.Value, means)
		}
		if err := d.checkWords(child); err != nil {
			return err
		}
	}
	return nil
}
