package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// pathAt returns the path of the value in a JSON text that ends at, or contains, an offset.
func pathAt(text []byte, offset int64) string {
	var levels path
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.Token()
		switch {
		case err != nil:
			return levels.String()
		case levels.wantKey() && token != json.Delim('}'):
			levels.setKey(token.(string))
			continue
		case token == json.Delim('}') || token == json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
		switch {
		case decoder.InputOffset() >= offset:
			return levels.String()
		case token == json.Delim('{') || token == json.Delim('['):
			levels = append(levels, level{list: token == json.Delim('[')})
		default:
			levels.next()
		}
	}
}

// path is the position of a JSON reader: the enclosing lists and mappings, outermost first.
type path []level

// level is a list or a mapping.
type level struct {
	list  bool
	index int    // of the next item of a list
	key   string // of the next value of a mapping
	keyed bool   // the key was read, and the value is next
}

// wantKey reports whether a key or the end of a mapping is next.
func (p path) wantKey() bool {
	last := len(p) - 1
	return last >= 0 && !p[last].list && !p[last].keyed
}

func (p path) setKey(key string) { p[len(p)-1].key, p[len(p)-1].keyed = key, true }

// next moves past a value.
func (p path) next() {
	if last := len(p) - 1; last >= 0 {
		p[last].index++
		p[last].keyed = false
	}
}

// String returns the path in the syntax of place.follow.
func (p path) String() string {
	var b strings.Builder
	for _, l := range p {
		switch {
		case l.list:
			fmt.Fprintf(&b, "[%d]", l.index)
		case l.keyed:
			b.WriteString("." + l.key)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// jsonWord returns the YAML word for a JSON type of the decoder.
func jsonWord(value string) string {
	word, _, _ := strings.Cut(value, " ")
	switch word {
	case "object":
		return "mapping"
	case "array":
		return "list"
	case "bool":
		return "boolean"
	}
	return word
}

// typeWord returns the YAML word for a Go type.
func typeWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Struct, reflect.Map:
		return "mapping"
	default:
		return "integer"
	}
}

// typeHint suggests a value for a field with a value of the wrong type; "" = no suggestion.
func typeHint(word string, t reflect.Type) string {
	fields := slices.Sorted(maps.Keys(fieldsOf(t)))
	switch {
	case t.Kind() == reflect.Struct && len(fields) > 0:
		return "; known: " + strings.Join(fields, " ")
	case t.Kind() == reflect.Bool:
		return ": write true or false"
	case t.Kind() == reflect.String && (word == "number" || word == "boolean"):
		return ": quote it"
	}
	return ""
}

// insteadOf suggests a field for the path of an unknown field of a TemplateController: one with a similar name, or
// one with the same name at another level. It begins with a semicolon; "" = no suggestion.
func insteadOf(path string) string {
	names := strings.Split(indexes.ReplaceAllString(path, ""), ".")
	at, last := reflect.TypeFor[v1.TemplateController](), names[len(names)-1]
	for _, name := range names[:len(names)-1] {
		next, found := fieldsOf(at)[name]
		if !found {
			return ""
		}
		at = next
	}
	nearest := syntax.Nearest(last, slices.Sorted(maps.Keys(fieldsOf(at))))
	elsewhere := holders("", reflect.TypeFor[v1.TemplateController](), last)
	switch {
	case nearest != "" && (len(elsewhere) == 0 || strings.EqualFold(nearest, last)):
		return syntax.DidYouMean(nearest)
	case len(elsewhere) > 0:
		const most = 3
		return "; it is in " + strings.Join(elsewhere[:min(len(elsewhere), most)], ", or in ")
	}
	return ""
}

// holders returns the paths in a type to objects with a field of that name, ignoring case.
func holders(path string, t reflect.Type, name string) (all []string) {
	fields := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		if path == "" && key != "spec" {
			continue // common to all objects
		}
		if path != "" && strings.EqualFold(key, name) {
			return []string{path}
		}
		if fields[key].Kind() == reflect.Slice {
			at += "[]"
		}
		all = append(all, holders(at, fields[key], name)...)
	}
	return all
}

// indexes matches list indexes in a path.
var indexes = regexp.MustCompile(`\[\d+\]`)

// fieldsOf returns the types of the fields of a struct, or of the struct in a pointer or list, by JSON name.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	fields := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(fields, fieldsOf(f.Type))
		} else if name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}
