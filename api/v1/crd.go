package v1

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// CRD describes the CustomResourceDefinition of the parents, for templater to
// create and update. Group, version and kind are those in watch. It has the
// status subresource, status.conditions and status.observedGeneration.
//
// +kubebuilder:validation:XValidation:rule="has(self.schema) != has(self.openAPIV3Schema)",message="set either schema or openAPIV3Schema"
type CRD struct {
	// Scope of the kind: Namespaced or Cluster. Optional; the default is
	// Namespaced. Immutable once the CustomResourceDefinition exists.
	// +optional
	// +kubebuilder:default=Namespaced
	Scope CRDScope `json:"scope,omitempty"`

	// Names of the kind. Optional.
	// +optional
	Names CRDNames `json:"names,omitempty,omitzero"`

	// Columns of kubectl get, between Ready and Age. At most 32. Optional.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Columns []CRDColumn `json:"columns,omitempty"`

	// The schema in short form. Optional; either this or openAPIV3Schema is
	// required.
	// +optional
	Schema *ShortSchema `json:"schema,omitempty"`

	// The schema of parents, as in a CustomResourceDefinition. For what the short
	// form cannot express. status.conditions and status.observedGeneration are
	// added if they are missing. Optional.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	OpenAPIV3Schema *apiextensionsv1.JSON `json:"openAPIV3Schema,omitempty"`

	// Adds the scale subresource, for kubectl scale and HorizontalPodAutoscalers.
	// Optional.
	// +optional
	Scale *CRDScale `json:"scale,omitempty"`

	// Hash of a schema to apply although it breaks stored parents, from the
	// message of the CRDReady condition. Optional. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AllowBreaking string `json:"allowBreaking,omitempty"`
}

// CRDScope defines whether the objects of a kind are in namespaces.
//
// +kubebuilder:validation:Enum=Namespaced;Cluster
type CRDScope string

// The values of CRDScope.
const (
	NamespacedScope CRDScope = "Namespaced"
	ClusterScope    CRDScope = "Cluster"
)

// CRDNames are the names of a kind.
type CRDNames struct {
	// Lower-case plural of the kind, as in URLs. Optional; the default is the
	// English plural of the kind. At most 63 characters. Immutable once the
	// CustomResourceDefinition exists.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Plural string `json:"plural,omitempty"`

	// Lower-case singular of the kind. Optional; the default is the kind in lower
	// case. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Singular string `json:"singular,omitempty"`

	// Kind of lists of parents. Optional; the default is the kind followed by
	// List. At most 67 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=67
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	ListKind string `json:"listKind,omitempty"`

	// Short names for kubectl. Optional. At most 16, of at most 63 characters
	// each.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ShortNames []string `json:"shortNames,omitempty"`

	// Categories, such as all for kubectl get all. Optional. At most 16, of at
	// most 63 characters each.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Categories []string `json:"categories,omitempty"`
}

// CRDColumn is a column of kubectl get.
type CRDColumn struct {
	// Name of the column. Required. At most 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// JSON path of the field, such as .spec.replicas. Required. At most 1,024
	// characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPath string `json:"jsonPath"`

	// Type of the column: string, integer, number, boolean or date. Optional; the
	// default is the type of the field.
	// +optional
	// +kubebuilder:validation:Enum=string;integer;number;boolean;date
	Type string `json:"type,omitempty"`

	// Description of the column. Optional. At most 1,024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// Columns with a priority above 0 are shown with -o wide only. Optional; the
	// default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Priority int32 `json:"priority,omitempty"`
}

// ShortSchema is a schema in short form: a mapping from field to type, such as
// "integer | default=1 minimum=0". Types are string, integer, float, boolean,
// object (any fields), []TYPE, map[string]TYPE, those in types, and nested
// mappings.
type ShortSchema struct {
	// Fields of spec. Optional.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec *apiextensionsv1.JSON `json:"spec,omitempty"`

	// Fields of status, besides conditions and observedGeneration. Optional.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *apiextensionsv1.JSON `json:"status,omitempty"`

	// Types for use in spec, status and other types, by name. Optional.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Types *apiextensionsv1.JSON `json:"types,omitempty"`
}

// CRDScale defines the scale subresource.
type CRDScale struct {
	// The field with the desired number of replicas, such as .spec.replicas.
	// Required. At most 1,024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SpecReplicas string `json:"specReplicas"`

	// The field with the observed number of replicas, such as .status.replicas.
	// Required. At most 1,024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	StatusReplicas string `json:"statusReplicas"`

	// The field with the label selector of the Pods as a string, such as
	// .status.selector. Optional. At most 1,024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`
}
