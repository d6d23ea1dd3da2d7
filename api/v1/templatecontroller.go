package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TemplateController defines an operator for one kind with templates: for each
// object of that kind (the parent), it creates child objects and writes the
// status.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=tc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.watch.kind`
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents.total`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.parents.updated`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.parents.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.status.className`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label on each child"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.startsWith('ns.')",message="metadata.name must not start with ns.: this prefix is reserved for finalizers of NamespacedTemplateControllers"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.serviceAccountRef) || has(self.spec.serviceAccountRef.namespace)",message="namespace is required",fieldPath=".spec.serviceAccountRef"
type TemplateController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which objects to watch, and what to create for each of them. Required. All
	// fields can be changed at any time, except the kind and the API group in
	// watch.
	// +required
	Spec TemplateControllerSpec `json:"spec"`

	// The observed state. Absent until an installation of templater has processed
	// the spec. Written by templater only.
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

// NamespacedTemplateController is a TemplateController for one namespace:
// parents, children, related objects and the ServiceAccount are in the same
// namespace as the NamespacedTemplateController.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=ntc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.watch.kind`
// +kubebuilder:printcolumn:name="Parents",type=integer,JSONPath=`.status.parents.total`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.parents.updated`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.parents.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.status.className`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 60",message="metadata.name must be at most 60 characters: it is part of a finalizer on each parent"
// +kubebuilder:validation:XValidation:rule="has(self.spec.serviceAccountRef)",message="serviceAccountRef.name is required in a NamespacedTemplateController: the name of a ServiceAccount in its namespace",fieldPath=".spec"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.serviceAccountRef) || !has(self.spec.serviceAccountRef.namespace)",reason=FieldValueForbidden,message="must not be set in a NamespacedTemplateController: the ServiceAccount must be in the same namespace",fieldPath=".spec.serviceAccountRef.namespace"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.crd)",reason=FieldValueForbidden,message="must not be set in a NamespacedTemplateController: use spec.crd of a TemplateController, or apply a CustomResourceDefinition",fieldPath=".spec.crd"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.watch.namespaces) && !has(self.spec.watch.namespaceSelector)",reason=FieldValueForbidden,message="namespaces and namespaceSelector must not be set: a NamespacedTemplateController watches only its own namespace",fieldPath=".spec.watch"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.related) || self.spec.related.all(r, !has(r.namespaces) && !has(r.namespaceSelector))",reason=FieldValueForbidden,message="namespaces and namespaceSelector must not be set: a NamespacedTemplateController reads related objects only in its own namespace",fieldPath=".spec.related"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.children) || self.spec.children.all(c, !has(c.scope) || c.scope == 'Namespaced')",reason=FieldValueForbidden,message="scope must be Namespaced or unset: all children of a NamespacedTemplateController are in its own namespace",fieldPath=".spec.children"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.finalize) || !has(self.spec.finalize.children) || self.spec.finalize.children.all(c, !has(c.scope) || c.scope == 'Namespaced')",reason=FieldValueForbidden,message="scope must be Namespaced or unset: all children of a NamespacedTemplateController are in its own namespace",fieldPath=".spec.finalize"
type NamespacedTemplateController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Parents to watch, and the children to create for each of them. Required. The
	// fields are those of a TemplateController. The API server rejects crd,
	// serviceAccountRef.namespace, namespaces and namespaceSelector in watch and
	// related, and scope Cluster.
	// +required
	Spec TemplateControllerSpec `json:"spec"`

	// The observed state. Absent until an installation of templater has processed
	// the spec. Written by templater only.
	// +optional
	Status TemplateControllerStatus `json:"status,omitempty,omitzero"`
}

// NamespacedTemplateControllerList is a list of NamespacedTemplateControllers.
//
// +kubebuilder:object:root=true
type NamespacedTemplateControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NamespacedTemplateController `json:"items"`
}

// TemplateControllerSpec selects the parents, and defines the children and the
// status of each of them.
//
// +kubebuilder:validation:XValidation:rule="has(self.children) && self.children.size() > 0 || has(self.status) && has(self.status.template)",message="at least one of children and status.template is required"
type TemplateControllerSpec struct {
	// The installation of templater that serves this TemplateController: the
	// installation that runs with this --class-name. Optional; the default, an
	// empty string, selects the installation without a class name. At most 50
	// characters: lower-case letters, digits and "-". After a change, the old
	// installation finishes its work in progress and releases the
	// TemplateController; children and status are kept.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ClassName string `json:"className,omitempty"`

	// Selects the parents, for which children and status are created. Required.
	// All selectors are AND-ed: a parent must match each selector that is set.
	// +required
	Watch Watch `json:"watch"`

	// The CustomResourceDefinition of the parents: templater creates and updates
	// it, and never deletes it. Optional; without it, the kind in watch must exist
	// already. A change that would make stored parents invalid, or drop their
	// fields, is not applied unless allowBreaking permits it.
	// +optional
	CRD *CRD `json:"crd,omitempty"`

	// The ServiceAccount that templater impersonates for this TemplateController:
	// parents, children and the parents' status are read and written with its
	// permissions only. Templater needs the verb impersonate on it. Optional;
	// without it, templater uses its own permissions, unless it runs with
	// --require-service-account.
	// +optional
	ServiceAccountRef *ServiceAccountRef `json:"serviceAccountRef,omitempty"`

	// While true, templater creates, updates and deletes nothing for this
	// TemplateController, and does not write the status of parents. Existing
	// objects are left unchanged, even if this TemplateController is deleted in
	// the meantime. Optional; the default is false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// How often each parent is reconciled without a change. A duration: up to four
	// whole numbers of at most five digits, each with its unit h, m, s or ms, such
	// as 90s, 10m or 1h30m; at most 28 characters. At least 1s, or 0s for never.
	// Optional; the default is 10m. Up to 10 % is added as jitter. A
	// reconciliation that finds no difference sends no request. The resync is only
	// a safety net: watches keep children up to date.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="must be at least 1s, or 0s for never"
	ResyncPeriod string `json:"resyncPeriod,omitempty"`

	// What happens to the children when this TemplateController is deleted.
	// OrphanChildren: all of them are kept; a child with an owner reference is
	// still deleted with its parent. DeleteChildren: they are deleted first,
	// except those of child templates with deletionPolicy Orphan or prunePolicy
	// Orphan. Optional; the default is OrphanChildren.
	// +optional
	// +kubebuilder:default=OrphanChildren
	WhenDeleted WhenDeleted `json:"whenDeleted,omitempty"`

	// The delimiters of actions in all templates. Optional; the default is {{ and
	// }}. The two must differ. Change them if Helm renders this manifest, or if
	// children must contain {{ }}.
	// +optional
	Delimiters Delimiters `json:"delimiters,omitempty,omitzero"`

	// Arbitrary data that templates read as .values. A kustomize overlay can patch
	// it without touching a template. A mapping. Integers must fit in 64 bits and
	// keep their exact value. Optional; the default is an empty mapping.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`

	// Blocks of {{ define "name" }}…{{ end }} that all templates of this
	// TemplateController can call with {{ include "name" . }}. Optional. At most
	// 262,144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Helpers string `json:"helpers,omitempty"`

	// Objects other than the parent and its children that templates read as
	// .related.NAME. They are watched with the same permissions as everything
	// else. When one changes, the parents that select it are reconciled. At most
	// 16 entries, each with a unique name, and at most 128 names in the namespaces
	// of all entries together. Optional.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.map(r, has(r.namespaces) ? r.namespaces.size() : 0).sum() <= 128",message="the namespaces of all entries list more than 128 names: use namespaceSelector, or split the TemplateController"
	Related []Related `json:"related,omitempty"`

	// The child templates: each renders objects, and defines how they are managed.
	// At most 64, each with a unique name. Optional if status.template is set: one
	// of the two is required.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Children []Child `json:"children,omitempty"`

	// How a change of the templates reaches existing parents. Alpha: it has no
	// effect unless templater runs with --revisions. Optional; without it, a
	// change reaches all parents at once.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// How many revisions are kept for templater rollout undo. From 2 to 100.
	// Optional; the default is 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=100
	RevisionHistoryLimit int32 `json:"revisionHistoryLimit,omitempty"`

	// The cleanup before a deleted parent is removed. Each parent gets the
	// finalizer finalize.templater.dev/NAME, where NAME is the name of this
	// TemplateController, before its first child is created; templater needs
	// permission to patch the parents. Optional; without it, the garbage collector
	// deletes the children of a deleted parent, all at the same time.
	// +optional
	Finalize *Finalize `json:"finalize,omitempty"`

	// What templater writes to the status of each parent. Optional; without it,
	// only the ready condition.
	// +optional
	Status *ParentStatus `json:"status,omitempty"`
}

// Watch selects parents. All selectors must match.
//
// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="kind is immutable: delete this TemplateController and create another"
// +kubebuilder:validation:XValidation:rule="self.apiVersion.contains('/') ? oldSelf.apiVersion.startsWith(self.apiVersion.split('/')[0] + '/') : !oldSelf.apiVersion.contains('/')",message="the group in apiVersion is immutable (the version may change): delete this TemplateController and create another"
type Watch struct {
	// API group and version of the parents, as in their apiVersion:
	// example.org/v1, or v1 for the core group. Required. The group is immutable,
	// the version can be changed. At most 317 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind of the parents, such as LoadTest. Required. Immutable. At most 63
	// characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Selects parents in these namespaces only. Optional; empty means all
	// namespaces. AND-ed with the other selectors. Not allowed for cluster-scoped
	// kinds. At most 128 names, of at most 63 characters each. With
	// serviceAccountRef, children are read in these namespaces only.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Selects parents in namespaces with matching labels only. Optional; absent or
	// {} means all namespaces. AND-ed with the other selectors. Not allowed for
	// cluster-scoped kinds.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Selects parents by their labels. Optional; absent or {} means all. AND-ed
	// with the other selectors. When a parent stops matching, its children are
	// treated according to prunePolicy.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Selects parents by their fields, as in kubectl get --field-selector.
	// Optional; empty means all. AND-ed with the other selectors. The supported
	// fields depend on the kind. At most 1,024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldSelector string `json:"fieldSelector,omitempty"`

	// An expression that selects parents if selectors are not enough. An example:
	// eq (index .metadata.annotations "example.org/managed") "yes". Only objects
	// for which it is true are parents. It has the syntax of readyWhen, without
	// delimiters, and can read .metadata, .spec, .status, .parent, .values and
	// .controller. Optional; empty means all. AND-ed with the selectors. A missing
	// result counts as false. An error, or a result that is not a boolean, changes
	// nothing: a parent remains a parent, and no other object becomes one. The
	// expression cannot read what templater writes to parents: their status if
	// this TemplateController writes it, finalizers, and labels and annotations of
	// templater.dev. At most 1,024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Filter string `json:"filter,omitempty"`
}

// ServiceAccountRef names a ServiceAccount.
type ServiceAccountRef struct {
	// Namespace of the ServiceAccount. Required in a TemplateController. Must not
	// be set in a NamespacedTemplateController, which uses a ServiceAccount in its
	// own namespace. Optional in the schema, because both kinds share it. At most
	// 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name of the ServiceAccount. Required. At most 253 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Delimiters mark the actions in templates. The two must differ.
type Delimiters struct {
	// Left delimiter. Optional; the default is {{. From 2 to 8 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=8
	Left string `json:"left,omitempty"`

	// Right delimiter. Optional; the default is }}. From 2 to 8 characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=8
	Right string `json:"right,omitempty"`
}

// WhenDeleted defines what happens to the children of a TemplateController
// that is deleted.
//
// +kubebuilder:validation:Enum=OrphanChildren;DeleteChildren
type WhenDeleted string

// The values of WhenDeleted.
const (
	OrphanChildren WhenDeleted = "OrphanChildren"
	DeleteChildren WhenDeleted = "DeleteChildren"
)

// ParentStatus defines what templater writes to the status of each parent.
type ParentStatus struct {
	// A Go template that renders a YAML mapping, which is merged into the parent's
	// .status. In conditions, templater fills in lastTransitionTime, reason and
	// message, and accepts booleans for status; a condition of the type in
	// readyCondition is rejected. Not allowed for built-in kinds: Kubernetes
	// writes their status. Optional if children is set: one of the two is
	// required. At most 262,144 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	Template string `json:"template,omitempty"`

	// Type of the condition that templater writes to the parent. It is True when
	// all children match their templates and are ready. Optional; the default is
	// Ready, and an empty string means no condition. At most 316 characters. The
	// parent's schema must have .status.conditions, as a list of type map with the
	// key type.
	// +optional
	// +kubebuilder:default=Ready
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=316
	ReadyCondition *string `json:"readyCondition,omitempty"`
}
