package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TemplateController turns each object of one kind (a parent) into child
// objects and a status, by templates. Creating one is all it takes to have an
// operator for that kind.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=tc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.watch.kind`
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents.total`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.parents.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.status.className`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label on each child"
type TemplateController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to watch, and what to make for each object found. Required. Every field
	// in it may be changed at any time, but for the kind and the group in watch.
	// +required
	Spec TemplateControllerSpec `json:"spec"`

	// What templater made of the spec. Absent until an installation has read the
	// spec. Written by templater alone.
	// +optional
	Status TemplateControllerStatus `json:"status,omitempty,omitzero"`
}

// TemplateControllerList is a list of TemplateControllers.
//
// +kubebuilder:object:root=true
type TemplateControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TemplateController `json:"items"`
}

// TemplateControllerSpec says which objects are the parents, and what templater
// keeps in step with each of them.
//
// +kubebuilder:validation:XValidation:rule="has(self.children) && self.children.size() > 0 || has(self.status) && has(self.status.template)",message="nothing to do: give at least one entry in children, or status.template"
type TemplateControllerSpec struct {
	// The installation of templater that serves this TemplateController: the one
	// that runs with this --class-name. Optional; the default, an empty text,
	// means the one without a class name. At most 50 characters: lower-case
	// letters, digits and "-". After a change the old installation finishes what
	// it has begun and hands over; children and status stay.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ClassName string `json:"className,omitempty"`

	// Which objects are the parents: those that children and status are made for.
	// Required. All selectors in it are AND-ed: an object is a parent when it
	// matches each that is given.
	// +required
	Watch Watch `json:"watch"`

	// The ServiceAccount that templater works as for this TemplateController:
	// parents, children and the parents' status are read and written with its
	// rights and no others. Templater needs the verb impersonate on it. Optional;
	// without it, templater works with its own rights, unless it runs with
	// --require-service-account.
	// +optional
	ServiceAccountRef *ServiceAccountRef `json:"serviceAccountRef,omitempty"`

	// While true, templater creates, changes and deletes nothing for this
	// TemplateController, and writes no status of a parent. What exists stays as
	// it is, also when this TemplateController is deleted meanwhile. Optional; the
	// default is false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// How often there is a pass over each parent although nothing happened. A
	// duration: up to four whole numbers of at most five digits, each with its
	// unit h, m, s or ms, such as 90s, 10m or 1h30m; at most 28 characters. At
	// least 1s, or 0s for never. Optional; the default is 10m. Up to 10 % is added
	// at random, so that parents spread out. A pass that finds no difference makes
	// no request: this is a safety net, and not what keeps children current.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="write 1s or more, or 0s for never"
	ResyncPeriod string `json:"resyncPeriod,omitempty"`

	// What becomes of the children when this TemplateController is deleted.
	// Orphan: all of them stay; a child that has an owner reference still goes
	// with its parent. Delete: they are deleted first, except those of entries
	// with deletionPolicy Orphan or prunePolicy Orphan. Optional; the default is
	// Orphan.
	// +optional
	// +kubebuilder:default=Orphan
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// The marks around the actions of all templates. Optional; the default is {{
	// and }}. The two must differ. Change them when this file itself goes through
	// Helm, or when children must hold {{ }}.
	// +optional
	Delimiters Delimiters `json:"delimiters,omitempty,omitzero"`

	// Free data for the templates, which see it as .values. A kustomize overlay
	// can patch it without touching a template. A mapping; its integers must fit
	// in 64 bits and are exact. Optional; the default is an empty mapping.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Blocks of {{ define "name" }}…{{ end }} that every template of this
	// TemplateController can use with {{ include "name" . }}. Optional. At most
	// 262,144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Helpers string `json:"helpers,omitempty"`

	// Objects that templates read besides the parent and its children, under
	// .related.NAME. They are watched with the same rights as all else, and a
	// change of one has the parents looked at that see it. At most 16 entries,
	// each with a name of its own. Optional.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Related []Related `json:"related,omitempty"`

	// The entries of children: each has a template and says how to treat the
	// objects that it yields. At most 64, each with a name of its own. Optional
	// where status.template is there: one of the two must be.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Children []Child `json:"children,omitempty"`

	// What happens before a deleted parent goes. Each parent then has the
	// finalizer finalize.templater.dev/NAME, NAME being that of this
	// TemplateController, from before its first child is made; templater must be
	// allowed to patch the parents. Optional; without it the garbage collector
	// takes the children of a deleted parent, all at once.
	// +optional
	Finalize *Finalize `json:"finalize,omitempty"`

	// What templater writes into the status of each parent. Optional; without it,
	// the ready condition alone.
	// +optional
	Status *ParentStatus `json:"status,omitempty"`
}

// Watch selects parents. All selectors must match.
//
// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="kind is immutable: delete this TemplateController and create another"
// +kubebuilder:validation:XValidation:rule="self.apiVersion.contains('/') ? oldSelf.apiVersion.startsWith(self.apiVersion.split('/')[0] + '/') : !oldSelf.apiVersion.contains('/')",message="the group in apiVersion is immutable (the version may change): delete this TemplateController and create another"
type Watch struct {
	// Group and version of the parents, as in their own apiVersion:
	// example.org/v1, or v1 for the core kinds. Required. The group is immutable,
	// the version may change. At most 317 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind of the parents, as in their own kind: LoadTest. Required. Immutable. At
	// most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Only objects in these namespaces are parents. Optional; empty means all
	// namespaces. AND-ed with the other selectors. Refused for cluster-scoped
	// kinds. At most 128 names, of at most 63 characters each. With
	// serviceAccountRef, children are read in these namespaces alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Only objects in namespaces whose labels match are parents. Optional; absent
	// or {} means all namespaces. AND-ed with the other selectors. Refused for
	// cluster-scoped kinds.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Only objects whose own labels match are parents. Optional; absent or {}
	// means all. AND-ed with the other selectors. A parent that stops matching
	// loses its children, as prunePolicy says.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Only objects whose fields match are parents, as in kubectl get
	// --field-selector. Optional; empty means all. AND-ed with the other
	// selectors. Which fields can be selected depends on the kind. At most 1,024
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldSelector string `json:"fieldSelector,omitempty"`
}

// ServiceAccountRef names a ServiceAccount.
type ServiceAccountRef struct {
	// Namespace of the ServiceAccount. Required. At most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Name of the ServiceAccount. Required. At most 253 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Delimiters are the marks around template actions. The two must differ.
type Delimiters struct {
	// Opens an action. Optional; the default is {{. From 2 to 8 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=8
	Left string `json:"left,omitempty"`

	// Closes an action. Optional; the default is }}. From 2 to 8 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=8
	Right string `json:"right,omitempty"`
}

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
	// TemplateController is deleted. It keeps its owner reference and so goes with
	// its parent: that is what deletionPolicy is about, which is independent of
	// this field. Optional; the default is Delete.
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

// DeletionPolicy says what becomes of dependents when their owner goes.
//
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

// The deletion policies.
const (
	DeletionOrphan DeletionPolicy = "Orphan"
	DeletionDelete DeletionPolicy = "Delete"
)

// ParentStatus says what templater writes into the status of each parent.
type ParentStatus struct {
	// A Go template that yields a YAML mapping, which is merged into the parent's
	// .status. In conditions, templater fills in lastTransitionTime, reason and
	// message, and takes booleans for status; a condition of the type in
	// readyCondition is refused. So is a template for a built-in kind: Kubernetes
	// writes that status. Optional where children is there: one of the two must
	// be. At most 262,144 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	Template string `json:"template,omitempty"`

	// Type of the condition that templater itself writes into the parent: True
	// when every child is as its template says and is ready. Optional; the default
	// is Ready, and an empty text means no condition. At most 316 characters. It
	// needs .status.conditions in the parent's schema, as a map list keyed by
	// type.
	// +optional
	// +kubebuilder:default=Ready
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=316
	ReadyCondition *string `json:"readyCondition,omitempty"`
}
