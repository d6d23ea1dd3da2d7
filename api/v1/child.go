package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// Child is an entry of children: a template, and how to treat the objects that it yields.
type Child struct {
	// Name of the entry: templates find its live objects under .observed.NAME and
	// .children.NAME. The template of another entry that reads .children.NAME
	// waits until they are ready. Required. A lower-case letter, then letters and
	// digits, at most 63 characters. It may change: the objects that the entry
	// yields go along.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// A Go template that yields zero, one or many YAML documents, each of them one
	// object. A manifest without any {{ }} is a valid template. Required. At most
	// 262,144 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	// +kubebuilder:validation:XValidation:rule="self.trim().size() > 0",message="the template is empty"
	Template string `json:"template"`

	// When an object of this entry is ready: an expression of Go templates,
	// without the delimiters, that yields true or false for each object, which it
	// sees as .object beside all that the template sees. An example:
	// eq .object.status.phase "Bound". It decides whether the parent is ready,
	// what is counted as ready, and when entries begin that wait for this one.
	// Anything else than true or false is an error. An object that is being
	// deleted is never ready. Optional; without it, an object is ready when its
	// own status says so, and at once where its status says nothing. At most 4,096
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ReadyWhen string `json:"readyWhen,omitempty"`

	// Names of other entries of children that must be ready before this one
	// begins: each object that they yield is there, as its template says, and
	// ready. An entry whose template reads .children.NAME waits for NAME by
	// itself, so that this field is for what a template does not read. While an
	// entry waits, its objects are neither created nor changed nor pruned, but
	// what others change in them is still undone. No entry may wait for itself,
	// also by way of others. Optional; at most 64 names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-zA-Z0-9]*$`
	DependsOn []string `json:"dependsOn,omitempty"`

	// How an existing object follows when the template yields something else.
	// Optional; the default is type Apply.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty,omitzero"`

	// What becomes of an object when the template stops yielding it, or its parent
	// stops matching. Delete: it is deleted. Orphan: it stays, also when the
	// TemplateController is deleted. It keeps its owner reference, if it has one:
	// deletionPolicy says whether it goes with its parent. Optional; the default
	// is Delete.
	// +optional
	// +kubebuilder:default=Delete
	PrunePolicy PrunePolicy `json:"prunePolicy,omitempty"`

	// What becomes of an object when its parent is deleted. Delete: it goes with
	// the parent. Orphan: it carries no owner reference and stays, also when the
	// TemplateController is deleted. Optional; the default is Delete.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Where the objects may be. Namespaced: in the namespace of their parent,
	// where an owner reference binds them to it. Cluster: in any namespace, or in
	// none, as far as the rights of the account go. They carry no owner reference,
	// so templater itself deletes them when the parent is deleted: the parent has
	// a finalizer until they are gone. Children are then read in all namespaces,
	// also with watch.namespaces. May be changed: the objects stay. Refused where
	// the parents are cluster-scoped, for their children may be anywhere as it is.
	// Optional; the default is Namespaced.
	// +optional
	// +kubebuilder:default=Namespaced
	Scope ChildScope `json:"scope,omitempty"`
}

// ChildScope says where the objects of an entry may be.
//
// +kubebuilder:validation:Enum=Namespaced;Cluster
type ChildScope string

// The scopes of children.
const (
	ScopeNamespaced ChildScope = "Namespaced"
	ScopeCluster    ChildScope = "Cluster"
)

// UpdateStrategy says how an existing object follows its template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.type) || self.type in ['Apply', 'Recreate']",message="rollingUpdate needs type Apply or Recreate: under CreateOnly and OnDelete templater changes no object"
type UpdateStrategy struct {
	// Apply changes the object in place, and undoes what others change in the
	// fields that the template sets. Recreate deletes all objects of this entry
	// that are out of date, and creates new ones when they are gone. CreateOnly
	// leaves an object as it was created. OnDelete leaves an object that is out of
	// date until somebody deletes it. Under each of them, templater keeps the
	// labels, annotations and owner reference current that it adds itself.
	// Optional; the default is Apply.
	// +optional
	// +kubebuilder:default=Apply
	Type UpdateStrategyType `json:"type,omitempty"`

	// Changes the objects of this entry a few at a time, each time when those
	// before are ready, and halts while they do not become ready. Only with type
	// Apply or Recreate. Optional; without it, all objects are changed at once.
	// {} means maxUnavailable 1.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate says how many objects of an entry are changed at a time.
type RollingUpdate struct {
	// How many objects of this entry may be unavailable while others are still out
	// of date: those that are missing, being deleted, or not ready, for whatever
	// reason. A number of objects, from 1 to 2,000, or a percentage of those that
	// the template yields, from 1% to 100%, rounded down, but at least one object.
	// Objects that are out of date and unavailable are changed at once. Optional;
	// the default is 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 1 && self <= 2000",message="write a number of objects from 1 to 2000, or a percentage such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// UpdateStrategyType names an update strategy.
//
// +kubebuilder:validation:Enum=Apply;Recreate;CreateOnly;OnDelete
type UpdateStrategyType string

// The update strategies; UpdateStrategy.Type says what each does.
const (
	UpdateApply      UpdateStrategyType = "Apply"
	UpdateRecreate   UpdateStrategyType = "Recreate"
	UpdateCreateOnly UpdateStrategyType = "CreateOnly"
	UpdateOnDelete   UpdateStrategyType = "OnDelete"
)

// PrunePolicy says what becomes of an object that is no longer wanted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type PrunePolicy string

// The prune policies.
const (
	PruneDelete PrunePolicy = "Delete"
	PruneOrphan PrunePolicy = "Orphan"
)

// DeletionPolicy says what happens to an object when its parent is deleted.
//
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

// The deletion policies.
const (
	DeletionOrphan DeletionPolicy = "Orphan"
	DeletionDelete DeletionPolicy = "Delete"
)
