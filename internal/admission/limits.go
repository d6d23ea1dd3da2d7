package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/templater-dev/templater/config/schema"
)

// objectLimit is how large an object can be that an API server stores: more than 1.5 MiB is refused by etcd.
const objectLimit = 3 << 19 // bytes

// bounds are what the schema of TemplateControllers says of the size of a value.
type bounds struct {
	Properties map[string]*bounds `json:"properties"`
	Items      *bounds            `json:"items"`
	MaxLength  *int               `json:"maxLength"` // characters
	MaxItems   *int               `json:"maxItems"`
}

// readBounds reads the schema, which is part of the program.
var readBounds = sync.OnceValue(func() *bounds {
	root := &bounds{}
	if err := json.Unmarshal(schema.TemplateController, root); err != nil {
		panic("the schema of TemplateControllers: " + err.Error())
	}
	return root
})

// tooLarge returns which limit of TemplateControllers a text of JSON exceeds first, and where; "" is none. It holds no more of the text than
// one value at a time. An API server asks about no such object, but others reach the port, too.
func tooLarge(text []byte) string {
	if len(text) > objectLimit {
		return fmt.Sprintf("the object has %d bytes: it may have at most %d", len(text), objectLimit)
	}
	m := &measure{from: json.NewDecoder(bytes.NewReader(text))}
	m.value(readBounds(), "")
	return m.fault
}

// measure is a walk through a text. It ends at a fault, or where the text is no JSON, of which its reader tells.
type measure struct {
	from  *json.Decoder
	fault string
}

// value walks through a value, and reports whether to go on. Nil bounds are none.
func (m *measure) value(of *bounds, where string) bool {
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
		return m.values(of, where, token == '[')
	case string:
		if n := utf8.RuneCountInString(token); of.MaxLength != nil && n > *of.MaxLength {
			m.fault = fmt.Sprintf("%s has %d characters: write at most %d", where, n, *of.MaxLength)
		}
	}
	return m.fault == ""
}

// values walks through what is in a list or a map, behind its beginning.
func (m *measure) values(of *bounds, where string, list bool) bool {
	for i := 0; m.from.More(); i++ {
		if list && of.MaxItems != nil && i >= *of.MaxItems {
			m.fault = fmt.Sprintf("%s has more than %d entries: give at most %d", where, *of.MaxItems, *of.MaxItems)
			return false
		}
		inner, at := of.Items, fmt.Sprintf("%s[%d]", where, i)
		if !list {
			token, err := m.from.Token()
			key, ok := token.(string)
			if err != nil || !ok {
				return false
			}
			if inner = of.Properties[key]; inner != nil {
				at = path(where, key)
			}
		}
		if !m.value(inner, at) {
			return false
		}
	}
	_, err := m.from.Token() // the end
	return err == nil
}

func path(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}
