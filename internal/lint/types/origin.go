package types

import "github.com/templater-dev/templater/internal/kube/openapi"

// Origin is the source of a value, in the terms of the author.
type Origin struct {
	Root   string  // such as .children.web[]; "" is the parent
	Object string  // display name of the object: SimpleDeployment
	Path   string  // in the object: .spec.template
	Up     *Origin // origin of the containing object; nil = none
	Type   *openapi.Type
	Source Source
	Items  map[uintptr]*Value // of spec.values: the items of a list or map, by its address
}

// Source is the source of the type of a value.
type Source int

// The sources.
const (
	FromSchema Source = iota
	FromValues
	FromTemplate
)

// Step returns the full path of an origin, as a comparison key; "" for nil.
func (o *Origin) Step() string {
	if o == nil {
		return ""
	}
	return o.Root + o.Path
}

// below returns the origin of a field.
func (o *Origin) below(key string, of *openapi.Type) *Origin {
	if o == nil {
		return nil
	}
	return &Origin{Root: o.Root, Object: o.Object, Path: o.Path + "." + key, Up: o, Type: of, Source: o.Source, Items: o.Items}
}

// item returns the origin of the items of a list.
func (o *Origin) item(of *openapi.Type) *Origin {
	if o == nil {
		return nil
	}
	return &Origin{Root: o.Root, Object: o.Object, Path: o.Path + "[]", Up: o, Type: of, Source: o.Source, Items: o.Items}
}

// alwaysThere are fields that practically every object from an API server has, although schemas call them optional.
var alwaysThere = map[string]bool{
	".apiVersion": true, ".kind": true, ".metadata": true, ".spec": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.creationTimestamp": true, ".metadata.generation": true,
}

// phases are kinds whose objects always have a phase.
var phases = map[string]bool{"Pod": true, "Namespace": true, "PersistentVolume": true, "PersistentVolumeClaim": true}

// scaled are kinds whose number of replicas is defaulted by the API server.
var scaled = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true}

// isThere reports whether objects always have the field, although its schema calls it optional.
func (o *Origin) isThere() bool {
	return o != nil && (alwaysThere[o.Path] || o.Path == ".status.phase" && phases[o.Object] || o.Path == ".spec.replicas" && scaled[o.Object])
}

// neverSeen are fields of objects that are hidden from templates.
var neverSeen = map[string]bool{".metadata.managedFields": true, ".metadata.resourceVersion": true}

// Words returns a description of a value in the terms of the author.
func (o *Origin) Words() string {
	switch {
	case o == nil:
		return "the value"
	case o.Source == FromValues:
		return ".values" + o.Path
	case o.Path == "":
		return o.Object
	}
	return o.Path + " of " + o.Object
}

// InWords describes an origin as a place in its object.
func (o *Origin) InWords() string {
	if o.Path == "" {
		return "the " + o.Object + " itself"
	}
	return o.Path
}

// Hides reports whether a direct field of the object is hidden from templates.
func (o *Origin) Hides(key string) bool { return o != nil && neverSeen[o.Path+"."+key] }
