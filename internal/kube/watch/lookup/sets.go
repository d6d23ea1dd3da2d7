package lookup

// sets are sets of things, by the hash of the term that they are filed under. Most have one member, which
// takes no set of its own.
type sets[T comparable] struct {
	one  map[uint64]T
	more map[uint64]map[T]struct{}
}

func newSets[T comparable]() *sets[T] {
	return &sets[T]{one: map[uint64]T{}, more: map[uint64]map[T]struct{}{}}
}

// add puts a thing into a set; it may be there already.
func (s *sets[T]) add(hash uint64, thing T) {
	first, there := s.one[hash]
	switch {
	case !there:
		s.one[hash] = thing
	case first == thing:
	case s.more[hash] == nil:
		s.more[hash] = map[T]struct{}{thing: {}}
	default:
		s.more[hash][thing] = struct{}{}
	}
}

// remove takes a thing out of a set; it need not be there.
func (s *sets[T]) remove(hash uint64, thing T) {
	first, there := s.one[hash]
	if !there {
		return
	}
	if first != thing {
		s.leave(hash, thing)
		return
	}
	for next := range s.more[hash] {
		s.one[hash] = next
		s.leave(hash, next)
		return
	}
	delete(s.one, hash)
}

// leave takes a thing out of those besides the first.
func (s *sets[T]) leave(hash uint64, thing T) {
	delete(s.more[hash], thing)
	if len(s.more[hash]) == 0 {
		delete(s.more, hash)
	}
}

// each calls f for everything in a set.
func (s *sets[T]) each(hash uint64, f func(T)) {
	first, there := s.one[hash]
	if !there {
		return
	}
	f(first)
	for thing := range s.more[hash] {
		f(thing)
	}
}
