package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/templater-dev/templater/config/schema"
)

// objectLimit is the maximum size of a stored object: etcd rejects more than 1.5 MiB.
const objectLimit = 3 << 19 // bytes

// tooLarge returns the first limit of TemplateControllers that text, a JSON object, exceeds, and where, or "". It
// decodes one value at a time, to limit memory. The API server validates objects before it calls the webhook, but other
// clients can reach the port, too.
func tooLarge(text []byte) string {
	if len(text) > objectLimit {
		return fmt.Sprintf("the object has %d bytes; the limit is %d", len(text), objectLimit)
	}
	m := &measure{from: json.NewDecoder(bytes.NewReader(text))}
	m.value(schema.TemplateController())
	if m.fault == "" {
		return ""
	}
	return strings.TrimPrefix(m.where, ".") + m.fault
}

// measure walks through a text. It stops at the first fault, or at invalid JSON, which the decoder reports later.
type measure struct {
	from         *json.Decoder
	fault, where string // where is a path, built while returning from the fault
}

// value walks through a value, and reports whether to continue. A nil node has no limits.
func (m *measure) value(of *schema.Node) bool {
	if of == nil {
		var skipped json.RawMessage
		return m.from.Decode(&skipped) == nil
	}
	token, err := m.from.Token()
	if err != nil {
		return false
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return m.list(of)
		}
		return m.object(of, nil)
	case string:
		if n := utf8.RuneCountInString(token); of.MaxLength != nil && n > *of.MaxLength {
			m.fault = fmt.Sprintf(" has %d characters; the limit is %d", n, *of.MaxLength)
		}
	}
	return m.fault == ""
}

// list walks through the items of a list, after its opening bracket.
func (m *measure) list(of *schema.Node) bool {
	for i := 0; m.from.More(); i++ {
		if of.MaxItems != nil && i >= *of.MaxItems {
			m.fault = fmt.Sprintf(" has more than %d entries: use at most %d", *of.MaxItems, *of.MaxItems)
			return false
		}
		if !m.item(of.Items) {
			m.where = fmt.Sprintf("[%d]%s", i, m.where)
			return false
		}
	}
	return m.end()
}

// item walks through an item of a list. An object must have the keys that the schema requires: otherwise a list of
// empty objects would use twenty times the memory of its text.
func (m *measure) item(of *schema.Node) bool {
	if of == nil || len(of.Required) == 0 {
		return m.value(of)
	}
	if token, err := m.from.Token(); err != nil || token != json.Delim('{') {
		m.fault = " is not a mapping"
		return false
	}
	return m.object(of, slices.Clone(of.Required))
}

// object walks through the fields of an object, after its opening brace. missing are the required keys.
func (m *measure) object(of *schema.Node, missing []string) bool {
	for m.from.More() {
		token, err := m.from.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return false
		}
		if !m.value(of.Properties[key]) {
			m.where = "." + key + m.where
			return false
		}
		missing = slices.DeleteFunc(missing, func(each string) bool { return each == key })
	}
	if !m.end() {
		return false
	}
	if len(missing) > 0 {
		m.fault = " has no " + missing[0]
	}
	return m.fault == ""
}

// end reads the end of a list or an object.
func (m *measure) end() bool {
	_, err := m.from.Token()
	return err == nil
}
