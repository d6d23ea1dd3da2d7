package openapi

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"unsafe"
)

// sharer deduplicates types: generated schemas contain the same parts many times, and again in each version.
type sharer struct {
	types map[string]*Type // by a key that describes the type
	ids   map[*Type]uint64 // of types that are parts of others
	key   []byte
}

func newSharer() *sharer { return &sharer{types: map[string]*Type{}, ids: map[*Type]uint64{}} }

// share returns the first type that is equal to t. The parts of t must be shared already.
func (s *sharer) share(t *Type) *Type {
	s.key = append(s.key[:0], byte(t.Kinds))
	s.id(t.Items)
	s.number(len(t.Enum))
	for _, text := range t.Enum {
		s.text(text)
	}
	if t.Rules != nil {
		s.key = fmt.Appendf(s.key, "%+v", *t.Rules)
	}
	switch {
	case t.Fields == nil:
		s.key = append(s.key, 0)
	case t.Open:
		s.key = append(s.key, 1)
	default:
		s.key = append(s.key, 2)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		f := t.Fields[name]
		s.text(name)
		s.id(f.Type)
		if f.Present {
			s.key = append(s.key, 1)
		} else {
			s.key = append(s.key, 0)
		}
	}
	if first, ok := s.types[string(s.key)]; ok {
		return first
	}
	s.types[string(s.key)] = t
	return t
}

func (s *sharer) number(n int) { s.key = binary.AppendUvarint(s.key, uint64(n)) }

func (s *sharer) text(text string) {
	s.number(len(text))
	s.key = append(s.key, text...)
}

// id adds a unique ID of a type to the key; nil has the ID 0.
func (s *sharer) id(t *Type) {
	if t == nil {
		s.number(0)
		return
	}
	id, ok := s.ids[t]
	if !ok {
		id = uint64(len(s.ids) + 1)
		s.ids[t] = id
	}
	s.key = binary.AppendUvarint(s.key, id)
}

// Memory of a map: it has slots for 8 keys, or for a power of two of which one eighth stays free.
const (
	mapBytes  = 48
	slotBytes = int(unsafe.Sizeof("")+unsafe.Sizeof(Field{})) + 1
)

func mapSize(keys int) int {
	slots := 8
	for slots > 8 && keys > slots*7/8 || keys > slots {
		slots *= 2
	}
	return mapBytes + slots*slotBytes
}

// textSize returns the memory of an unshared string: allocations are rounded up.
func textSize(text string) int { return (len(text) + 15) / 16 * 16 }

// sizeOf returns the approximate memory of a Set of this package in bytes. Shared types count once. It returns 0 for other Sets.
func sizeOf(set Set) int {
	read, ok := set.(*readSet)
	if !ok {
		return 0
	}
	m := measure{seen: map[*Type]bool{}}
	for _, t := range read.byKind {
		m.add(t)
	}
	return m.bytes
}

type measure struct {
	seen  map[*Type]bool
	bytes int
}

func (m *measure) add(t *Type) {
	if t == nil || m.seen[t] || int(t.Kinds) < len(plain) && t == plain[t.Kinds] {
		return
	}
	m.seen[t] = true
	m.bytes += int(unsafe.Sizeof(*t)) + textSize(t.Name)
	for _, text := range t.Enum {
		m.bytes += int(unsafe.Sizeof(text)) + textSize(text)
	}
	if t.Rules != nil {
		m.bytes += int(unsafe.Sizeof(*t.Rules)) + len(t.Rules.Required)*int(unsafe.Sizeof(""))
	}
	m.add(t.Items)
	if t.Fields != nil {
		m.bytes += mapSize(len(t.Fields))
	}
	for name, f := range t.Fields {
		m.bytes += textSize(name)
		m.add(f.Type)
	}
}
