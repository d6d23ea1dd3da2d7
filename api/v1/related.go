package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Related is an entry of related: objects that templates read, and that templater
// neither makes nor changes.
// +kubebuilder:validation:XValidation:rule="!has(self.logs) || (self.apiVersion == 'v1' && self.kind == 'Pod')",fieldPath=".logs",message="logs are those of Pods: remove logs, or write apiVersion: v1 and kind: Pod"
type Related struct {
	// Name of the entry: templates find the objects under .related.NAME. Required.
	// A lower-case letter, then letters and digits, at most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z][a-zA-Z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Group and version of the objects, as in their own apiVersion: apps/v1, or v1
	// for the core kinds. Required. At most 317 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`

	// Kind of the objects, as in their own kind: Pod. Required. At most 63
	// characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Only objects in these namespaces are watched. Optional; empty means all
	// namespaces. AND-ed with the other selectors. Refused for cluster-scoped
	// kinds. At most 128 names, of at most 63 characters each, counted over all
	// entries: each takes a watch, where namespaceSelector takes one in all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`

	// Only objects in namespaces whose labels match are seen. Optional; absent or
	// {} means all namespaces. AND-ed with the other selectors. Refused for
	// cluster-scoped kinds.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Only objects whose own labels match are watched. Optional; absent or {}
	// means all. AND-ed with the other selectors.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// Only objects whose fields match are watched, as in kubectl get
	// --field-selector. Optional; empty means all. AND-ed with the other
	// selectors. Which fields can be selected depends on the kind. At most 1,024
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldSelector string `json:"fieldSelector,omitempty"`

	// A Go template that says which of the watched objects one parent sees. It
	// sees the parent, .values and .controller, and yields a YAML mapping or a
	// list of them. In a mapping, name, namespace and labelSelector (as in a
	// Deployment) are AND-ed; an object that any mapping selects is seen. Without
	// namespace, the parent's namespace is meant, or, with allNamespaces: true,
	// every one. A name or namespace that is empty is an error. A list without a
	// mapping, or no output, selects nothing. At most 256 mappings, and 32 KiB of
	// them as JSON. Optional; without it, a parent sees every watched object in
	// its own namespace, or, where the parent or the kind has no namespace, every
	// watched object. At most 262,144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Select string `json:"select,omitempty"`

	// Only changes below these paths have parents looked at, besides objects that
	// come or go. Paths are as in the template function where: status.phase, or
	// metadata.labels['example.org/tier']. Optional; empty means every change. At
	// most 16 paths, of at most 256 characters each. Templates see whole objects
	// all the same, as they are when the parent is looked at. With logs, the
	// states of containers count as well.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	WatchFields []string `json:"watchFields,omitempty"`

	// Whether templates work without these objects. If true, the list is empty
	// while the cluster does not have the kind, or templater may not read it. If
	// false, parents are left as they are meanwhile, as they are in any case while
	// the objects cannot be read for another reason. Optional; the default is
	// false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// What templates see of the logs of these Pods, by the function logs.
	// Optional; without it, no log is read. Only for apiVersion v1 and kind Pod.
	// The account needs the verb get on pods/log.
	// +optional
	Logs *PodLogs `json:"logs,omitempty"`
}

// PodLogs says how much of the logs of Pods templates see. Logs are read in the
// background: a parent is looked at again when one has come.
type PodLogs struct {
	// How many lines of each container's log, the last ones. Optional; 1 to 1,000,
	// the default is 20.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TailLines int64 `json:"tailLines,omitempty"`

	// How many bytes of these lines, the last ones. Optional; 1 to 16,384, the
	// default is 4096.
	// +optional
	// +kubebuilder:default=4096
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	LimitBytes int64 `json:"limitBytes,omitempty"`

	// Whether the log is that of the container that ran before the present one,
	// and of no container where there was none. Optional; the default is false.
	// +optional
	Previous bool `json:"previous,omitempty"`
}
