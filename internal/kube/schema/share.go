package schema

import (
	"encoding/binary"
	"maps"
	"slices"
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
