package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	// What to watch and what to make of it.
	// +required
	Spec TemplateControllerSpec `json:"spec"`

	// What the operator made of the spec. Written by templater alone.
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
	// Which installation of templater serves this controller: the one that was started
	// with this --class-name. Empty means the one without a name. After a change the
	// old installation finishes what it has begun and hands over; children and status stay.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ClassName string `json:"className,omitempty"`

	// The objects that this controller works for, called parents.
	// +required
	Watch Watch `json:"watch"`

	// The account that this controller works as: parents, children and the parents' status
	// are read and written with its rights, and with nobody else's. Templater needs the
	// verb impersonate on it. Without it, templater works with its own rights.
	// +optional
	ServiceAccountRef *ServiceAccountRef `json:"serviceAccountRef,omitempty"`

	// While true, templater neither creates, changes nor deletes anything for
	// this controller. What exists stays as it is, also when this TemplateController
	// is deleted.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// How often each parent is looked at again although nothing happened, as a
	// duration such as 90s, 10m or 1h30m, 1s at least; up to 10 % is added at random so that parents
	// spread out. 0s means never. A look that finds nothing different costs no
	// request, so this is a safety net and not what keeps children current.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="write 1s or more, or 0s for never"
	ResyncPeriod string `json:"resyncPeriod,omitempty"`

	// What becomes of the children when this TemplateController is deleted: Orphan
	// leaves all of them (one that has an owner reference still goes with its parent),
	// Delete deletes them first, except those that their own entry has stay:
	// under deletionPolicy Orphan or prunePolicy Retain.
	// +optional
	// +kubebuilder:default=Orphan
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// The marks around template actions, {{ and }} unless set. The two must
	// differ. Change them when this file itself goes through Helm, or when
	// children must hold {{ }}.
	// +optional
	Delimiters Delimiters `json:"delimiters,omitempty,omitzero"`

	// Free data for the templates, which see it as .values. A kustomize overlay
	// can patch it without touching a template. Integers must fit in 64 bits and
	// are exact.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Blocks of {{ define "name" }}…{{ end }} that every template below can use
	// with {{ include "name" . }}.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Helpers string `json:"helpers,omitempty"`

	// The objects to make for each parent, by group.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Children []Child `json:"children,omitempty"`

	// The status to write into each parent.
	// +optional
	Status *ParentStatus `json:"status,omitempty"`
}

// Watch selects parents. All selectors must match.
//
// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="kind is immutable: delete this TemplateController and create another"
// +kubebuilder:validation:XValidation:rule="self.apiVersion.contains('/') ? oldSelf.apiVersion.startsWith(self.apiVersion.split('/')[0] + '/') : !oldSelf.apiVersion.contains('/')",message="the group in apiVersion is immutable (the version may change): delete this TemplateController and create another"
type Watch struct {
	// Group and version of the parents, as in their own apiVersion: example.org/v1, or
	// v1 for the core kinds.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind of the parents, as in their own kind: LoadTest.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Only parents in these namespaces; empty means all. Not for cluster-scoped kinds.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Only parents in namespaces whose labels match. Not for cluster-scoped kinds.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Only parents whose labels match. One that stops matching loses its
	// children, as prunePolicy says.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Only parents whose fields match, as in kubectl get --field-selector. Which
	// fields can be selected depends on the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldSelector string `json:"fieldSelector,omitempty"`
}

// ServiceAccountRef names a ServiceAccount.
type ServiceAccountRef struct {
	// Namespace of the ServiceAccount.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Name of the ServiceAccount.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Delimiters are the marks around template actions. The two must differ.
type Delimiters struct {
	// Opens an action; {{ unless set.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=8
	Left string `json:"left,omitempty"`

	// Closes an action; }} unless set.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=8
	Right string `json:"right,omitempty"`
}

// Child is one template and how to treat the objects that it yields.
type Child struct {
	// Names this group: templates find its objects under .observed.NAME, and in status
	// under .children.NAME. A letter, then letters and digits, for templates to parse it.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// A Go template that yields zero, one or many YAML documents. A manifest without
	// any {{ }} is a valid template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	// +kubebuilder:validation:XValidation:rule="self.trim().size() > 0",message="the template is empty"
	Template string `json:"template"`

	// How an existing object is brought in line when the template yields
	// something else.
	// +optional
	// +kubebuilder:default={}
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty,omitzero"`

	// What becomes of an object when the template stops yielding it, or its
	// parent stops matching: Delete or Retain. Under Retain it also stays when the
	// TemplateController is deleted, but goes with its parent, unless deletionPolicy is Orphan.
	// +optional
	// +kubebuilder:default=Delete
	PrunePolicy PrunePolicy `json:"prunePolicy,omitempty"`

	// What becomes of an object when its parent is deleted: Delete, or Orphan.
	// Orphan children carry no owner reference, and stay also when the
	// TemplateController is deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// UpdateStrategy says how an existing object follows its template.
type UpdateStrategy struct {
	// Apply changes the object in place and undoes what others change in the fields
	// that the template sets. Recreate deletes all objects of this group that are
	// out of date and makes them anew once they are gone. CreateOnly leaves an
	// object as it was created. OnDelete leaves an out-of-date object until
	// somebody deletes it. The labels, annotations and owner reference that
	// templater itself adds are kept current under each of them.
	// +optional
	// +kubebuilder:default=Apply
	Type UpdateStrategyType `json:"type,omitempty"`
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
// +kubebuilder:validation:Enum=Delete;Retain
type PrunePolicy string

// The prune policies.
const (
	PruneDelete PrunePolicy = "Delete"
	PruneRetain PrunePolicy = "Retain"
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
	// .status. Under conditions, lastTransitionTime, reason and message are filled in,
	// and status may be a boolean; none may have the type that readyCondition names.
	// Built-in kinds get no status.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	Template string `json:"template,omitempty"`

	// Type of the condition that templater itself writes into the parent: True
	// when all children are in line and ready. Empty means none. It needs
	// .status.conditions in the parent's schema, as a map list keyed by type.
	// +optional
	// +kubebuilder:default=Ready
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=316
	ReadyCondition *string `json:"readyCondition,omitempty"`
}
