package child

import "slices"

// Pair brings together what is wanted and what is there, by kind and name. An object belongs to
// the entry of spec.children that wants it, whatever entry it was made from; its label tells only where
// nobody wants it. It is not taken from an entry that has failed, and may want it still. Pair
// returns what is wanted and may be written, and whether some object belongs to another entry now.
func (d *Desired) Pair(all []*Live) (free []*Wanted, moved bool) {
	there := make(map[ID]*Live, len(all))
	for _, l := range all {
		there[l.ID()] = l
	}
	free = make([]*Wanted, 0, len(d.Wanted))
	for _, w := range d.Wanted {
		l := there[w.ID()]
		if l != nil && l.Entry != w.Entry.Name {
			if slices.Contains(d.Failed, l.Entry) {
				continue
			}
			l.Entry, moved = w.Entry.Name, true
		}
		if w.Live = l; l != nil {
			l.Wanted = w
		}
		free = append(free, w)
	}
	return free, moved
}
