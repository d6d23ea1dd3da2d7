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
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.parents.updated`,priority=1
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

	// What happens to the children when this TemplateController is deleted.
	// OrphanChildren: all of them are kept; a child with an owner reference is
	// still deleted with its parent. DeleteChildren: they are deleted first,
	// except those of entries with deletionPolicy Orphan or prunePolicy Orphan.
	// Optional; the default is OrphanChildren.
	// +optional
	// +kubebuilder:default=OrphanChildren
	WhenDeleted WhenDeleted `json:"whenDeleted,omitempty"`

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
	// each with a name of its own, and at most 128 names in the namespaces of all
	// of them. Optional.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.map(r, has(r.namespaces) ? r.namespaces.size() : 0).sum() <= 128",message="the namespaces of all entries have more than 128 names: use namespaceSelector, or divide the TemplateController"
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

	// An expression that selects parents where selectors are not enough:
	// eq (index .metadata.annotations "example.org/managed") "yes". Only objects
	// for which it is true are parents. It is written like readyWhen, without
	// delimiters, and sees .metadata, .spec, .status, .parent, .values and
	// .controller. Optional; empty means all. AND-ed with the selectors. A missing
	// result is false. An error, or a result that is not a boolean, changes
	// nothing: a parent remains a parent, and another object does not become one.
	// The expression cannot read what templater writes into parents: their status
	// where this TemplateController writes it, finalizers, and labels and
	// annotations of templater.dev. At most 1,024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Filter string `json:"filter,omitempty"`
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

// WhenDeleted says what happens to the children of a TemplateController that is deleted.
//
// +kubebuilder:validation:Enum=OrphanChildren;DeleteChildren
type WhenDeleted string

// The values of WhenDeleted.
const (
	OrphanChildren WhenDeleted = "OrphanChildren"
	DeleteChildren WhenDeleted = "DeleteChildren"
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
