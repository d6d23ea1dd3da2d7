package openapi

import (
	"encoding/binary"
	"maps"
	"slices"
	"unsafe"
)

// sharer keeps one of the types that are the same: schemas that programs write say the same many times, and in each of
// their versions again.
type sharer struct {
	types map[string]*Type // by what describes them
	ids   map[*Type]uint64 // of those that describe others
	key   []byte
}

func newSharer() *sharer { return &sharer{types: map[string]*Type{}, ids: map[*Type]uint64{}} }

// share returns the first type that was the same as t. The parts of t are shared before.
func (s *sharer) share(t *Type) *Type {
	s.key = append(s.key[:0], byte(t.Kinds))
	s.id(t.Items)
	s.number(len(t.Enum))
	for _, text := range t.Enum {
		s.text(text)
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

// id adds what tells a type from all others; nil is 0.
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

// What a map takes: it has room for 8 keys, or for a power of two, of which one eighth stays free.
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

// textSize is what a text takes that no other shares: room comes in steps.
func textSize(text string) int { return (len(text) + 15) / 16 * 16 }

// sizeOf returns about how many bytes of memory a Set takes that this package has read, what its types share counted once. Of
// another Set it is 0.
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
	m.add(t.Items)
	if t.Fields != nil {
		m.bytes += mapSize(len(t.Fields))
	}
	for name, f := range t.Fields {
		m.bytes += textSize(name)
		m.add(f.Type)
	}
}
