package object

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Of managedFields an Object keeps two things: what templater's own managers
// hold by Apply, and the conditions in status that anybody holds. Each is a
// line of text: its kind, the manager, the subresource and the fields (FieldsV1), between
// tabs, which JSON and managers cannot hold.
//
// Objects from one template own the same fields, but for the UID of their
// parent in the key of the owner reference. With a placeholder in its place, the
// lines of all of them are equal, and kept once.

const (
	applied    = "A"
	conditions = "C"

	labelParentUID = v1.LabelParentUID
	placeholder    = "\x00" // of the parent's UID
)

// entry is one of managedFields; each part is a part of the text, strings as they
// stand between their quotes.
type entry struct{ manager, operation, subresource, time, fields []byte }

var prefix = []byte(v1.FieldManagerPrefix)

// takeOwnership keeps what is kept of managedFields.
func (o *Object) takeOwnership(managed []byte) {
	d := newDecoder(managed)
	defer freeDecoder(d)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return
	}
	controller, parent := o.Label(v1.LabelController), o.Label(labelParentUID)
	lines := d.lines[:0]
	for d.PeekKind() == '{' {
		e, err := d.entry(managed)
		if err != nil {
			break // Decode has found the text to be valid: this cannot be
		}
		if at := e.appliedBy(controller); at > o.applied {
			o.applied = at
		}
		lines = e.keep(lines, parent)
	}
	d.lines = lines
	if len(lines) > 0 {
		o.ownership = unique.Make(string(lines))
	}
}

// appliedBy returns when the object itself was applied for that TemplateController, or for any if that is empty: in seconds
// since 1970, 0 where the entry is about something else.
func (e entry) appliedBy(controller string) uint32 {
	name, ours := bytes.CutPrefix(e.manager, prefix)
	if !ours || string(e.operation) != "Apply" || len(e.subresource) > 0 || controller != "" && string(name) != controller {
		return 0
	}
	at, err := time.Parse(time.RFC3339, string(e.time))
	if err != nil {
		return 0
	}
	return uint32(at.Unix()) //nolint:gosec // until 2106
}

// AppliedAt returns when, by the clock of the server, the object itself was last applied for the TemplateController that its label
// names, or for any where it has none: whole seconds, the zero time where it never was.
func (o *Object) AppliedAt() time.Time {
	if o.applied == 0 {
		return time.Time{}
	}
	return time.Unix(int64(o.applied), 0)
}

// sameOwned reports whether we own the same fields as before, and their values are written alike. Owner references do not count. Both objects
// name the same TemplateController by their label: who changes the label chooses which fields are compared.
func (o *Object) sameOwned(before *Object) bool {
	own := o.own()
	if o.ownership != before.ownership && own != before.own() {
		return false
	}
	return o.sameMembers(before, &reader{s: own.fields})
}

// sameMembers compares the members at a path that a set of fields names, which the reader is in front of.
func (o *Object) sameMembers(before *Object, set *reader, path ...string) bool {
	for set.items('{', '}') {
		member := append(path, strings.TrimPrefix(set.key(), "f:"))
		if len(path) == 0 && member[0] == "metadata" {
			if !o.sameMembers(before, set, member...) {
				return false
			}
			continue
		}
		set.skip()
		if !slices.Equal(member, []string{"metadata", "ownerReferences"}) && !o.SameAt(before, member) {
			return false
		}
	}
	return true
}

// own is the line about the fields that the TemplateController holds which the label names.
func (o *Object) own() line {
	manager := v1.FieldManagerPrefix + o.Label(v1.LabelController)
	for l := range o.lines {
		if l.kind == applied && l.manager == manager && l.subresource == "" {
			return l
		}
	}
	return line{}
}

// entry reads one of managedFields.
func (d *decoder) entry(managed []byte) (entry, error) {
	var e entry
	err := d.members(func(name []byte) error {
		target := e.target(name)
		at, err := d.value()
		if target == nil || err != nil {
			return err
		}
		if managed[at.from] == '"' {
			at = inner(at)
		}
		*target = managed[at.from:at.to]
		return nil
	})
	return e, err
}

func (e *entry) target(name []byte) *[]byte {
	switch string(name) {
	case `"manager"`:
		return &e.manager
	case `"operation"`:
		return &e.operation
	case `"subresource"`:
		return &e.subresource
	case `"time"`:
		return &e.time
	case `"fieldsV1"`:
		return &e.fields
	}
	return nil
}

// keep appends the lines for an entry, if any.
func (e entry) keep(lines []byte, parent string) []byte {
	if string(e.operation) == "Apply" && bytes.HasPrefix(e.manager, prefix) {
		lines = appendLine(lines, applied, e, parent)
	}
	if !bytes.Contains(e.fields, []byte(`"f:conditions"`)) {
		return lines
	}
	r := reader{s: string(e.fields)}
	if r.find("f:status") && r.find("f:conditions") {
		from := r.at
		r.skip()
		e.fields = []byte(r.s[from:r.at])
		lines = appendLine(lines, conditions, e, parent)
	}
	return lines
}

// appendLine appends a line. The placeholder is put into the fields alone: whoever may label the
// object chooses what the label of the parent says.
func appendLine(lines []byte, kind string, e entry, parent string) []byte {
	fields := jsontext.Value(e.fields)
	if bytes.ContainsAny(fields, "\t\n") {
		fields = fields.Clone()
		if fields.Compact() != nil {
			return lines
		}
	}
	if parent != "" && bytes.Contains(fields, []byte(parent)) {
		fields = bytes.ReplaceAll(fields, []byte(parent), []byte(placeholder))
	}
	lines = append(append(lines, kind...), '\t')
	lines = append(append(lines, e.manager...), '\t')
	lines = append(append(lines, e.subresource...), '\t')
	return append(append(lines, fields...), '\n')
}

// Applied returns the fields that the manager holds by Apply, in the object
// itself or in a subresource of it, as managedFields has them (FieldsV1). nil means none.
func (o *Object) Applied(manager, subresource string) FieldSet {
	for l := range o.lines {
		if l.kind == applied && l.manager == manager && l.subresource == subresource {
			return o.fields(l)
		}
	}
	return nil
}

// AppliedByOthers yields each of templater's managers but this one that holds fields of a subresource by Apply,
// and the fields.
func (o *Object) AppliedByOthers(manager, subresource string) iter.Seq2[string, FieldSet] {
	return func(yield func(string, FieldSet) bool) {
		for l := range o.lines {
			if l.kind == applied && l.manager != manager && l.subresource == subresource && !yield(l.manager, o.fields(l)) {
				return
			}
		}
	}
}

// HasAppliedStatus reports whether one of templater's managers holds a field of status by Apply.
func (o *Object) HasAppliedStatus() bool {
	for l := range o.lines {
		if l.kind == applied && l.subresource == "status" {
			return true
		}
	}
	return false
}

// Conditions calls yield with each manager that holds some of status.conditions, and the
// fields below there (FieldsV1).
func (o *Object) Conditions(yield func(manager string, fields FieldSet) bool) {
	for l := range o.lines {
		if l.kind == conditions && !yield(l.manager, o.fields(l)) {
			return
		}
	}
}

type line struct{ kind, manager, subresource, fields string }

func (o *Object) lines(yield func(line) bool) {
	if o.ownership == (unique.Handle[string]{}) {
		return
	}
	for text := range strings.Lines(o.ownership.Value()) {
		var l line
		l.kind, text, _ = strings.Cut(strings.TrimSuffix(text, "\n"), "\t")
		l.manager, text, _ = strings.Cut(text, "\t")
		l.subresource, l.fields, _ = strings.Cut(text, "\t")
		if !yield(l) {
			return
		}
	}
}

func (o *Object) fields(l line) FieldSet {
	text := l.fields
	if strings.Contains(text, placeholder) {
		text = strings.ReplaceAll(text, placeholder, o.Label(labelParentUID))
	}
	r := reader{s: text}
	set, _ := r.value().(map[string]any)
	return set
}
