package v1

import "k8s.io/apimachinery/pkg/util/intstr"

// Child is a child template: it renders objects, and defines how they are
// managed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.adoption) || self.adoption != 'IfConsented' || !has(self.updateStrategy) || !has(self.updateStrategy.type) || self.updateStrategy.type != 'Recreate'",message="adoption: IfConsented cannot be combined with type Recreate, which could delete adopted objects"
// +kubebuilder:validation:XValidation:rule="!has(self.createOnlyFields) || !has(self.updateStrategy) || !has(self.updateStrategy.type) || self.updateStrategy.type != 'CreateOnly'",message="createOnlyFields has no effect with type CreateOnly, which never updates objects: remove it"
type Child struct {
	// Name of the child template. Templates read its live objects as
	// .observed.NAME and .children.NAME. Another child template that reads
	// .children.NAME waits until these objects are ready. Required. A lower-case
	// letter, then letters and digits, at most 63 characters. It can be changed:
	// existing objects are kept and relabeled.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// A Go template that renders zero, one or many YAML documents, each of them
	// one object. A manifest without any {{ }} is a valid template. Required. At
	// most 262,144 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	// +kubebuilder:validation:XValidation:rule="self.trim().size() > 0",message="the template is empty"
	Template string `json:"template"`

	// A template expression, without delimiters, that determines whether an object
	// of this child template is ready: it returns true or false for each object.
	// It can read the object as .object, and everything that the template can
	// read. An example: eq .object.status.phase "Bound". It decides whether the
	// parent is ready, which children count as ready, and when child templates
	// that depend on this one start. Any result other than true or false is an
	// error. An object that is being deleted is never ready. Optional; by default,
	// an object is ready when its status reports it, and immediately if its status
	// has no readiness information. At most 4,096 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ReadyWhen string `json:"readyWhen,omitempty"`

	// Names of other child templates that must be ready before this one starts:
	// all their objects exist, are up to date, and are ready. A template that
	// reads .children.NAME depends on NAME implicitly: use this field only for
	// dependencies that the template does not read. While a child template waits,
	// its objects are not created, updated or pruned, but changes by other clients
	// are still reverted. Cycles are rejected. Optional; at most 64 names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-zA-Z0-9]*$`
	DependsOn []string `json:"dependsOn,omitempty"`

	// Fields that are only set when an object is created. Afterwards they belong
	// to other clients, such as an autoscaler: templater never changes them
	// again, whatever the template renders. Changes of these fields are not
	// reverted and, with type Recreate, recreate no object. A field can be added
	// while objects exist: their value is kept. If it is removed, templater sets
	// it again. Field paths such as spec.replicas or
	// metadata.annotations['example.org/owner'], without list positions; a path
	// includes all fields below it. Not with type CreateOnly. Optional; at most
	// 16 paths of at most 256 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	CreateOnlyFields []string `json:"createOnlyFields,omitempty"`

	// How existing objects are updated when the template renders something else.
	// Optional; the default is type Apply.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty,omitzero"`

	// What happens if an object of a child's name exists that templater did not
	// create. Never: the parent reports a conflict, and the object is not
	// changed. IfConsented: templater adopts the object if it has no controller
	// and its annotation templater.dev/adopt names this TemplateController and
	// parent; the conflict shows the value. An adopted object is like one that
	// templater created: it is updated, and deleted by the same rules. The
	// annotation is removed. Not with type Recreate. Optional; the default is
	// Never.
	// +optional
	Adoption Adoption `json:"adoption,omitempty"`

	// What happens to an object when the template no longer renders it, or when
	// its parent stops matching. Delete: it is deleted. Orphan: it is kept, even
	// if the TemplateController is deleted. It keeps its owner reference, if it
	// has one: deletionPolicy decides whether it is deleted with its parent.
	// Optional; the default is Delete.
	// +optional
	// +kubebuilder:default=Delete
	PrunePolicy PrunePolicy `json:"prunePolicy,omitempty"`

	// What happens to an object when its parent is deleted. Delete: it is deleted
	// with the parent. Orphan: it has no owner reference and is kept, even if the
	// TemplateController is deleted. Optional; the default is Delete.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Scope of the objects. Namespaced: in the namespace of their parent, with an
	// owner reference to it. Cluster: in any namespace, or cluster-scoped, if the
	// service account has permission. They have no owner reference, so templater
	// itself deletes them when the parent is deleted: the parent has a finalizer
	// until they are deleted. Children are then read in all namespaces, even with
	// watch.namespaces. Can be changed: existing objects are kept. Not allowed for
	// cluster-scoped parents: their children can be in any namespace without it.
	// Optional; the default is Namespaced.
	// +optional
	// +kubebuilder:default=Namespaced
	Scope ChildScope `json:"scope,omitempty"`
}

// Adoption defines whether existing objects of others become children.
//
// +kubebuilder:validation:Enum=Never;IfConsented
type Adoption string

// The values of Child.Adoption, which describes them.
const (
	AdoptionNever       Adoption = "Never"
	AdoptionIfConsented Adoption = "IfConsented"
)

// ChildScope defines where the objects of a child template can be.
//
// +kubebuilder:validation:Enum=Namespaced;Cluster
type ChildScope string

// The scopes of children.
const (
	ScopeNamespaced ChildScope = "Namespaced"
	ScopeCluster    ChildScope = "Cluster"
)

// UpdateStrategy defines how existing objects are updated.
//
// +kubebuilder:validation:XValidation:rule="!has(self.onImmutable) || self.onImmutable != 'Recreate' || !has(self.type) || self.type == 'Apply'",message="onImmutable: Recreate requires type Apply: the other types update no objects in place"
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.type) || self.type in ['Apply', 'Recreate']",message="rollingUpdate requires type Apply or Recreate: CreateOnly and OnDelete never update objects"
type UpdateStrategy struct {
	// Apply updates objects in place, and reverts changes by other clients to
	// fields that the template sets. Recreate deletes all outdated objects of this
	// child template, and creates new ones once they are deleted. CreateOnly never
	// updates an object. OnDelete keeps an outdated object until it is deleted,
	// and then creates a new one. With every type, templater keeps the labels,
	// annotations and owner reference that it manages up to date. Optional; the
	// default is Apply.
	// +optional
	// +kubebuilder:default=Apply
	Type UpdateStrategyType `json:"type,omitempty"`

	// What happens if the API server rejects an update only because a field is
	// immutable, such as the selector of a Deployment or the template of a Job.
	// Fail: the object is kept, and the parent reports the error. Recreate: the
	// object is deleted with its dependents, such as Pods, and created again
	// once it is deleted. Other rejected updates never delete an object, nor do
	// changes by other clients. Only with type Apply. Optional; the default is
	// Fail.
	// +optional
	OnImmutable OnImmutable `json:"onImmutable,omitempty"`

	// Updates the objects of this child template a few at a time: the next ones
	// once the previous ones are ready. The rollout halts while they are not. Only
	// with type Apply or Recreate. Optional; without it, all objects are updated
	// at the same time. {} means maxUnavailable 1.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate limits how many objects of a child template are updated at a
// time.
type RollingUpdate struct {
	// How many objects of this child template can be unavailable while others are
	// outdated. An object is unavailable if it is missing, being deleted, or not
	// ready, for any reason. A number of objects, from 1 to 2,000, or a percentage
	// of the objects that the template renders, from 1% to 100%, rounded down, but
	// at least one object. Outdated objects that are unavailable are updated
	// immediately. Optional; the default is 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 1 && self <= 2000",message="must be a number from 1 to 2000, or a percentage such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// OnImmutable defines what happens if an immutable field is to be changed.
//
// +kubebuilder:validation:Enum=Fail;Recreate
type OnImmutable string

// The values of UpdateStrategy.OnImmutable, which describes them.
const (
	OnImmutableFail     OnImmutable = "Fail"
	OnImmutableRecreate OnImmutable = "Recreate"
)

// UpdateStrategyType names an update strategy.
//
// +kubebuilder:validation:Enum=Apply;Recreate;CreateOnly;OnDelete
type UpdateStrategyType string

// The update strategies; UpdateStrategy.Type describes them.
const (
	UpdateApply      UpdateStrategyType = "Apply"
	UpdateRecreate   UpdateStrategyType = "Recreate"
	UpdateCreateOnly UpdateStrategyType = "CreateOnly"
	UpdateOnDelete   UpdateStrategyType = "OnDelete"
)

// PrunePolicy defines what happens to an object that is no longer desired.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type PrunePolicy string

// The prune policies.
const (
	PruneDelete PrunePolicy = "Delete"
	PruneOrphan PrunePolicy = "Orphan"
)

// DeletionPolicy defines what happens to an object when its parent is deleted.
//
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

// The deletion policies.
const (
	DeletionOrphan DeletionPolicy = "Orphan"
	DeletionDelete DeletionPolicy = "Delete"
)
