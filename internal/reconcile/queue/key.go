package queue

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// Key names one parent of one TemplateController.
type Key struct {
	Controller string
	Parent     types.NamespacedName
}

// String is the key as logs and errors show it.
func (k Key) String() string { return k.Controller + ": " + k.Parent.String() }

// DropController drops what is kept of the parents of a controller.
func DropController[V any](m map[Key]V, name string) {
	maps.DeleteFunc(m, func(key Key, _ V) bool { return key.Controller == name })
}
