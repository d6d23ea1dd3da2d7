package render

import (
	"reflect"
	"slices"

	"github.com/templater-dev/templater/internal/render/budget"
)

// costMapping is the cost of adding a mapping to locations, which takes up to 192 bytes.
const costMapping = budget.CostEntry + budget.CostItem

// locations is an index of the mappings in the related objects and other children. It is built when a value is missing for the first time,
// level by level as far as needed, so that each mapping is visited once per execution. The budget pays for it.
type locations struct {
	lists int // how many lists of objects were added
	known map[uintptr]location
	next  []map[string]any // known mappings whose values were not added yet
}

// location is the position of a mapping in an object.
type location struct {
	object map[string]any
	in     uintptr // the enclosing mapping; 0 = it is the object itself
	key    string  // in the enclosing mapping; list indexes are not part of the path
}

// address identifies a mapping. The view keeps all of the index alive.
func address(mapping map[string]any) uintptr { return reflect.ValueOf(mapping).Pointer() }

// locate returns the location of a mapping, and whether it has one.
func (x *exec) locate(mapping map[string]any) (at location, ok bool, err error) {
	l := &x.locations
	if err = l.addObjects(x); err != nil {
		return location{}, false, err
	}
	for {
		if at, ok = l.known[address(mapping)]; ok || len(l.next) == 0 {
			return at, ok, nil
		}
		if err = l.deepen(&x.Meter); err != nil {
			return location{}, false, err
		}
	}
}

// addObjects adds the objects that were read since the last call.
func (l *locations) addObjects(x *exec) error {
	lists := x.view.Lists()
	if lists == l.lists {
		return nil
	}
	l.lists = lists
	if l.known == nil {
		l.known = map[uintptr]location{}
	}
	for objects := range x.view.Others(x.unit.Text.Name) {
		if err := x.ChargeFor(len(objects), costField); err != nil {
			return err
		}
		for _, each := range objects {
			object, _ := each.(map[string]any)
			if err := l.add(object, location{object: object}, &x.Meter); err != nil {
				return err
			}
		}
	}
	return nil
}

// deepen adds the mappings one level below those that are known. It adds a whole level, so that the costs do not depend on the order of keys.
func (l *locations) deepen(b *budget.Meter) error {
	level := l.next
	l.next = nil
	for _, mapping := range level {
		if err := b.ChargeFor(len(mapping), costField); err != nil {
			return err
		}
		at := location{object: l.known[address(mapping)].object, in: address(mapping)}
		for key, v := range mapping {
			at.key = key
			if err := l.addValue(v, at, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// addValue adds a mapping, or those in a list.
func (l *locations) addValue(v any, at location, b *budget.Meter) error {
	switch v := v.(type) {
	case map[string]any:
		return l.add(v, at, b)
	case []any:
		if err := b.ChargeFor(len(v), costField); err != nil {
			return err
		}
		for _, item := range v {
			if err := l.addValue(item, at, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *locations) add(mapping map[string]any, at location, b *budget.Meter) error {
	if _, known := l.known[address(mapping)]; known || mapping == nil {
		return nil
	}
	if err := b.Charge(costMapping); err != nil {
		return err
	}
	l.known[address(mapping)] = at
	l.next = append(l.next, mapping)
	return nil
}

// path returns the keys that lead from its object to a location, and pays for them.
func (l *locations) path(at location, b *budget.Meter) ([]string, error) {
	var path []string
	for ; at.in != 0; at = l.known[at.in] {
		if err := b.Charge(budget.CostItem); err != nil {
			return nil, err
		}
		path = append(path, at.key)
	}
	slices.Reverse(path)
	return path, nil
}
