package syntax

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Keys is the fixed set of keys of a map that templates see. Reading another key is an error, not nil.
type Keys struct {
	Prefix string   // written before each key: "." or ".observed."
	Names  []string // sorted
	gone   map[string]string
}

// Purpose is the purpose of a template, which determines the data that it sees.
type Purpose int

// The purposes.
const (
	// ForChild templates render the objects of an entry of spec.children.
	ForChild Purpose = iota
	// ForStatus templates render the status of the parent.
	ForStatus
	// ForSelect templates select the related objects of a parent.
	ForSelect
	// ForReadyWhen expressions report whether a child is ready.
	ForReadyWhen
	// ForFilter expressions select parents. Those that must not read the status are ForFilterWithoutStatus.
	ForFilter
	ForFilterWithoutStatus
)

// RootKeys returns the keys at the root of a template's data.
func RootKeys(purpose Purpose) Keys {
	switch purpose {
	case ForSelect:
		return Keys{Prefix: ".", Names: selectKeys, gone: goneFromSelects}
	case ForReadyWhen:
		return Keys{Prefix: ".", Names: readyWhenKeys}
	case ForFilter:
		return Keys{Prefix: ".", Names: selectKeys, gone: goneFromFilters}
	case ForFilterWithoutStatus:
		return Keys{Prefix: ".", Names: filterKeys, gone: goneFromFilters}
	case ForChild, ForStatus:
	}
	return Keys{Prefix: ".", Names: rootKeys, gone: onlyElsewhere}
}

// ControllerKeys returns the keys below .controller.
func ControllerKeys() Keys { return Keys{Prefix: ".controller.", Names: controllerKeys} }

var (
	rootKeys       = []string{"children", "controller", "metadata", "observed", "parent", "related", "spec", "status", "values"}
	selectKeys     = []string{"controller", "metadata", "parent", "spec", "status", "values"}
	filterKeys     = []string{"controller", "metadata", "parent", "spec", "values"}
	readyWhenKeys  = slices.Sorted(slices.Values(append([]string{"object"}, rootKeys...)))
	controllerKeys = []string{"name"}
	// onlyElsewhere explains why keys do not exist in the child and status templates.
	onlyElsewhere = map[string]string{"object": onlyInReadyWhen}
	// goneFromSelects explains why keys do not exist in a select template.
	goneFromSelects = map[string]string{
		"children": ".children" + onlyTheParent, "observed": ".observed" + onlyTheParent, "related": ".related" + onlyTheParent,
	}
)

// goneFromFilters explains why keys do not exist in spec.watch.filter.
var goneFromFilters = map[string]string{
	"status":   ".status is not available in a filter of a TemplateController that writes the status of its parents: use .spec or .metadata",
	"children": ".children" + notInFilters, "observed": ".observed" + notInFilters, "related": ".related" + notInFilters,
}

const notInFilters = " is not available in a filter, which can read only one object: use .spec, .metadata, .parent, .values or .controller"

const (
	onlyTheParent   = " is not available in a select template, which can read only the parent: use .spec, .metadata, .status, .values or .controller"
	onlyInReadyWhen = ".object is only available in readyWhen, where it is the object that is evaluated; use .observed.NAME"
)

// KeyError means that a key does not exist.
type KeyError struct {
	message string
	// Nearest is the existing key that was probably meant, as it is written, or "".
	Nearest string
}

// Error returns a message that lists the existing keys.
func (e *KeyError) Error() string { return e.message }

// Check returns an error unless the key exists. It is a [*KeyError] if another key was probably meant.
func (k *Keys) Check(key string) error {
	if _, found := slices.BinarySearch(k.Names, key); found {
		return nil
	}
	if why := k.gone[key]; why != "" {
		return errors.New(why)
	}
	known := make([]string, len(k.Names))
	for i, name := range k.Names {
		known[i] = k.Prefix + name
	}
	list := "none are defined"
	if len(known) > 0 {
		list = "known: " + strings.Join(known, " ")
	}
	nearest := Nearest(key, k.Names)
	if nearest != "" {
		nearest = k.Prefix + nearest
	}
	return &KeyError{fmt.Sprintf("unknown name %s%s%s; %s", k.Prefix, key, DidYouMean(nearest), list), nearest}
}
