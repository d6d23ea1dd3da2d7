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

// An Object keeps two parts of managedFields: the fields that templater's own managers applied, and the conditions in status of
// all managers. Each is stored as a line of text: its type, the manager, the subresource and the fields (FieldsV1), separated by
// tabs, which neither JSON nor manager names contain.
//
// Objects from one template have the same owned fields, except for the UID of the parent in the key of the owner reference. It is
// replaced by a placeholder, so that all these objects have equal lines, which are stored once.

const (
	applied    = "A"
	conditions = "C"

	labelParentUID = v1.LabelParentUID
	placeholder    = "\x00" // for the parent's UID
)

// entry is an entry of managedFields. Its parts are slices of the text; strings are without quotes and still escaped.
type entry struct{ manager, operation, subresource, time, fields []byte }

// isOurs reports whether a field manager is that of a TemplateController.
func isOurs(manager []byte) bool {
	return bytes.HasPrefix(manager, []byte(v1.FieldManagerPrefix)) || bytes.HasPrefix(manager, []byte(v1.NamespacedFieldManagerPrefix))
}

// takeOwnership stores the relevant parts of managedFields.
func (o *Object) takeOwnership(managed []byte) {
	d := newDecoder(managed)
	defer freeDecoder(d)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return
	}
	manager, parent := o.manager(), o.Label(labelParentUID)
	lines := d.lines[:0]
	for d.PeekKind() == '{' {
		e, err := d.entry(managed)
		if err != nil {
			break // cannot happen: Decode has found the text to be valid
		}
		if at := e.appliedBy(manager); at > o.applied {
			o.applied = at
		}
		lines = e.keep(lines, parent)
	}
	d.lines = lines
	if len(lines) > 0 {
		o.ownership = unique.Make(string(lines))
	}
}

// appliedBy returns the time of the entry, in Unix seconds, if it is an apply of the object itself by that field manager, or by any of
// templater if it is empty. Otherwise, it returns 0.
func (e entry) appliedBy(manager string) uint32 {
	if !isOurs(e.manager) || string(e.operation) != "Apply" || len(e.subresource) > 0 || manager != "" && string(e.manager) != manager {
		return 0
	}
	at, err := time.Parse(time.RFC3339, string(e.time))
	if err != nil {
		return 0
	}
	return uint32(at.Unix()) //nolint:gosec // valid until 2106
}

// AppliedAt returns the API server time of the last apply of the object itself by the TemplateController in its label, or by any
// TemplateController if it has no label. It is in whole seconds, and zero if there was none.
func (o *Object) AppliedAt() time.Time {
	if o.applied == 0 {
		return time.Time{}
	}
	return time.Unix(int64(o.applied), 0)
}

// sameOwned reports whether we own the same fields as before, with byte-identical values. Owner references are ignored. Both
// objects must have the same TemplateController label, because the label determines which fields are compared.
func (o *Object) sameOwned(before *Object) bool {
	own := o.own()
	if o.ownership != before.ownership && own != before.own() {
		return false
	}
	return o.sameMembers(before, &reader{s: own.fields})
}

// sameMembers compares the members at a path that are in a set of fields. The reader must be in front of the set.
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

// manager returns the field manager of the TemplateController in the label, or "".
func (o *Object) manager() string {
	if key := o.ControllerKey(); key != "" {
		return v1.FieldManager(key)
	}
	return ""
}

// ControllerKey returns the key of the TemplateController in the labels of a child, or "".
func (o *Object) ControllerKey() string {
	if name := o.Label(v1.LabelController); name != "" {
		return name
	}
	if name := o.Label(v1.LabelNamespacedController); name != "" && o.Namespace() != "" {
		return v1.Key(o.Namespace(), name)
	}
	return ""
}

// HasController reports whether the labels of a child name the TemplateController with a key.
func (o *Object) HasController(key string) bool {
	if name := o.Label(v1.LabelController); name != "" {
		return name == key
	}
	namespace, name := v1.SplitKey(key)
	return namespace != "" && namespace == o.Namespace() && o.Label(v1.LabelNamespacedController) == name
}

// own returns the line with the fields owned by the TemplateController in the label.
func (o *Object) own() line {
	manager := o.manager()
	for l := range o.lines {
		if l.kind == applied && l.manager == manager && l.subresource == "" {
			return l
		}
	}
	return line{}
}

// entry reads an entry of managedFields.
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
	if string(e.operation) == "Apply" && isOurs(e.manager) {
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

// appendLine appends a line. The placeholder is used only in the fields, because anyone who can label the object chooses the
// value of the parent label.
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

// Applied returns the fields that the manager owns by Apply in the object itself, or in a subresource, in the format of
// managedFields (FieldsV1). It returns nil if there are none.
func (o *Object) Applied(manager, subresource string) FieldSet {
	for l := range o.lines {
		if l.kind == applied && l.manager == manager && l.subresource == subresource {
			return o.fields(l)
		}
	}
	return nil
}

// AppliedByOthers yields all other templater field managers that own fields of the subresource by Apply, and these fields.
func (o *Object) AppliedByOthers(manager, subresource string) iter.Seq2[string, FieldSet] {
	return func(yield func(string, FieldSet) bool) {
		for l := range o.lines {
			if l.kind == applied && l.manager != manager && l.subresource == subresource && !yield(l.manager, o.fields(l)) {
				return
			}
		}
	}
}

// HasAppliedStatus reports whether a templater field manager owns fields of status by Apply.
func (o *Object) HasAppliedStatus() bool {
	for l := range o.lines {
		if l.kind == applied && l.subresource == "status" {
			return true
		}
	}
	return false
}

// Conditions yields each manager that owns fields of status.conditions, and the fields below it (FieldsV1).
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
