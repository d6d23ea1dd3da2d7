package syntax

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Keys is the closed set of keys of a map that templates see. Asking for
// another key is an error rather than nil.
type Keys struct {
	Prefix string   // how they are written: "." or ".observed."
	Names  []string // sorted
	gone   map[string]string
}

// Purpose is what a template is for, which decides what it sees.
type Purpose int

// The purposes.
const (
	// ForChild templates yield the objects of an entry of children.
	ForChild Purpose = iota
	// ForStatus templates yield the status of the parent.
	ForStatus
	// ForSelect templates say which objects of an entry of related a parent sees.
	ForSelect
	// ForReadyWhen expressions tell whether an object of an entry of children is ready.
	ForReadyWhen
	// ForFilter expressions tell whether an object is a parent. Where its status is not to be read, they are ForFilterWithoutStatus.
	ForFilter
	ForFilterWithoutStatus
)

// RootKeys returns the keys at the root of what a template sees.
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
	// onlyElsewhere says why keys are not there in the templates of children and status.
	onlyElsewhere = map[string]string{"object": onlyInReadyWhen}
	// goneFromSelects says why keys are not there in a select template.
	goneFromSelects = map[string]string{
		"children": ".children" + onlyTheParent, "observed": ".observed" + onlyTheParent, "related": ".related" + onlyTheParent,
	}
)

// goneFromFilters says why keys are not there in spec.watch.filter.
var goneFromFilters = map[string]string{
	"status":   ".status is not available in a filter of a TemplateController that writes the status of its parents: use .spec or .metadata",
	"children": ".children" + notInFilters, "observed": ".observed" + notInFilters, "related": ".related" + notInFilters,
}

const notInFilters = " is not available in a filter, which can read only one object: use .spec, .metadata, .parent, .values or .controller"

const (
	onlyTheParent   = " is not available in a select template, which can read only the parent: use .spec, .metadata, .status, .values or .controller"
	onlyInReadyWhen = ".object is only available in readyWhen, where it is the object that is evaluated; use .observed.NAME"
)

// KeyError says that a key is not among those that there are.
type KeyError struct {
	message string
	// Nearest is what may have been meant, as it is written, or "".
	Nearest string
}

// Error says which keys there are.
func (e *KeyError) Error() string { return e.message }

// Check returns an error unless key is among the keys. It is a [*KeyError] where another one may have been meant.
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
	list := "there are none"
	if len(known) > 0 {
		list = "known: " + strings.Join(known, " ")
	}
	nearest := Nearest(key, k.Names)
	if nearest != "" {
		nearest = k.Prefix + nearest
	}
	return &KeyError{fmt.Sprintf("there is no %s%s%s; %s", k.Prefix, key, DidYouMean(nearest), list), nearest}
}
