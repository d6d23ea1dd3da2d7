package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Related selects existing objects that templates can read. Templater never
// writes them.
// +kubebuilder:validation:XValidation:rule="!has(self.logs) || (self.apiVersion == 'v1' && self.kind == 'Pod')",fieldPath=".logs",message="logs is only allowed for Pods: remove logs, or set apiVersion: v1 and kind: Pod"
type Related struct {
	// Name of the entry: templates read the objects as .related.NAME. Required. A
	// lower-case letter, then letters and digits, at most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// API group and version of the objects, as in their apiVersion: apps/v1, or v1
	// for the core group. Required. At most 317 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind of the objects, such as Pod. Required. At most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Watches objects in these namespaces only. Optional; empty means all
	// namespaces. AND-ed with the other selectors. Not allowed for cluster-scoped
	// kinds. At most 128 names, of at most 63 characters each, counted over all
	// entries: each namespace needs its own watch, while namespaceSelector needs
	// only one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Selects objects in namespaces with matching labels only. Optional; absent or
	// {} means all namespaces. AND-ed with the other selectors. Not allowed for
	// cluster-scoped kinds.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Watches objects with matching labels only. Optional; absent or {} means all.
	// AND-ed with the other selectors.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Watches objects with matching fields only, as in kubectl get
	// --field-selector. Optional; empty means all. AND-ed with the other
	// selectors. The supported fields depend on the kind. At most 1,024
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldSelector string `json:"fieldSelector,omitempty"`

	// A Go template that selects which of the watched objects the templates of one
	// parent read. It can read the parent, .values and .controller, and renders a
	// YAML mapping or a list of them. In a mapping, name, namespace and
	// labelSelector (as in a Deployment) are AND-ed; an object is selected if it
	// matches any mapping. Without namespace, a mapping selects objects in the
	// parent's namespace, or, with allNamespaces: true, in all namespaces. An
	// empty name or namespace is an error. An empty list, or empty output,
	// selects nothing. At most 256 mappings, and at most 32 KiB in total as JSON.
	// Optional; without it, all watched objects in the parent's namespace are
	// selected, or all watched objects if the parent or the kind is
	// cluster-scoped. At most 262,144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Select string `json:"select,omitempty"`

	// Reconciles parents only if a field below one of these paths changes, or an
	// object is added or removed. If logs is set, a change of a container's state
	// also triggers a reconciliation. Paths have the syntax of the template
	// function where: status.phase, or metadata.labels['example.org/tier'].
	// Optional; empty means every change. At most 16 paths, of at most 256
	// characters each. Templates still read whole objects, as they are when the
	// parent is reconciled.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	WatchFields []string `json:"watchFields,omitempty"`

	// Whether templates work without these objects. If true, the list is empty
	// while the cluster does not serve the kind, or templater has no permission to
	// read it. If false, parents are left unchanged in these cases. While the
	// objects cannot be read for another reason, parents are always left
	// unchanged. Optional; the default is false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// Reads the logs of these Pods, for the template function logs. Optional;
	// without it, no logs are read. Only for apiVersion v1 and kind Pod. The
	// service account needs the verb get on pods/log.
	// +optional
	Logs *PodLogs `json:"logs,omitempty"`
}

// PodLogs limits how much of the logs of Pods templates can read. Logs are
// read in the background: a parent is reconciled again when a log has been
// read.
type PodLogs struct {
	// Maximum number of lines to read from the end of each container's log.
	// Optional; 1 to 1,000, the default is 20.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TailLines int64 `json:"tailLines,omitempty"`

	// Maximum size in bytes of these lines; the beginning is cut off. Optional; 1
	// to 16,384, the default is 4096.
	// +optional
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	LimitBytes int64 `json:"limitBytes,omitempty"`

	// Whether to read the log of the previous instance of a container, if there
	// was one, as kubectl logs --previous does. Optional; the default is false.
	// +optional
	Previous bool `json:"previous,omitempty"`
}
