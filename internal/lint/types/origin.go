package types

import "github.com/templater-dev/templater/internal/kube/openapi"

// Origin says where a value is from, in words of the author.
type Origin struct {
	Root   string  // such as .children.web[]; "" is the parent
	Object string  // what the whole is called: SimpleDeployment
	Path   string  // in the object: .spec.template
	Up     *Origin // of what it is a part of; nil = it is the whole
	Type   *openapi.Type
	Source Source
	Items  map[uintptr]*Value // of spec.values: what is in a list or a map, by its address
}

// Source tells what told the type of a value.
type Source int

// The sources.
const (
	FromSchema Source = iota
	FromValues
	FromTemplate
)

// Step returns the whole path of an origin, by which places are compared; "" for nil.
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

// item is the origin of what is in a list.
func (o *Origin) item(of *openapi.Type) *Origin {
	if o == nil {
		return nil
	}
	return &Origin{Root: o.Root, Object: o.Object, Path: o.Path + "[]", Up: o, Type: of, Source: o.Source, Items: o.Items}
}

// alwaysThere are fields that each object of an API server has, or as good as, though schemas call them optional.
var alwaysThere = map[string]bool{
	".apiVersion": true, ".kind": true, ".metadata": true, ".spec": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.creationTimestamp": true, ".metadata.generation": true,
}

// phases are those of objects that have one from the beginning.
var phases = map[string]bool{"Pod": true, "Namespace": true, "PersistentVolume": true, "PersistentVolumeClaim": true}

// scaled are those whose number of replicas the API server sets where nobody else does.
var scaled = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true}

// isThere reports whether an object has what is there, whatever its schema says.
func (o *Origin) isThere() bool {
	return o != nil && (alwaysThere[o.Path] || o.Path == ".status.phase" && phases[o.Object] || o.Path == ".spec.replicas" && scaled[o.Object])
}

// neverSeen are fields that objects have and templates do not see.
var neverSeen = map[string]bool{".metadata.managedFields": true, ".metadata.resourceVersion": true}

// Words names what a value is in words of the author.
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

// InWords names an origin as a place in its object.
func (o *Origin) InWords() string {
	if o.Path == "" {
		return "the " + o.Object + " itself"
	}
	return o.Path
}

// Hides reports whether objects have a field right below that templates do not see.
func (o *Origin) Hides(key string) bool { return o != nil && neverSeen[o.Path+"."+key] }
