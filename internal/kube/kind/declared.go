package kind

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Declared finds kinds without a server: those of CustomResourceDefinitions, as files have them, and those that come with
// Kubernetes. It is safe for concurrent use.
type Declared []map[string]any

// Resolve returns the kind in that version. The error is a *NotFoundError.
func (d Declared) Resolve(gvk schema.GroupVersionKind) (Kind, error) {
	missing := &NotFoundError{GVK: gvk}
	for _, definition := range d {
		if declares(definition) != gvk.GroupKind() {
			continue
		}
		if kind, served := inDefinition(definition, gvk.Version); served {
			return kind, nil
		}
		missing.Served = anyVersion(definition)
	}
	if kind, found := builtIn(gvk); found {
		return kind, nil
	}
	return Kind{}, missing
}

// Schema returns the schema of a kind in that version, or nil where no definition has one.
func (d Declared) Schema(gvk schema.GroupVersionKind) map[string]any {
	for _, definition := range d {
		if declares(definition) != gvk.GroupKind() {
			continue
		}
		for _, version := range versions(definition) {
			if version["name"] == gvk.Version {
				return rootSchema(version)
			}
		}
	}
	return nil
}

// All returns the groups and kinds of the definitions.
func (d Declared) All() []schema.GroupKind {
	all := make([]schema.GroupKind, len(d))
	for i, definition := range d {
		all[i] = declares(definition)
	}
	return all
}

// Stored returns the kind that a CustomResourceDefinition asks for, in the version that its objects are stored in.
func Stored(definition map[string]any) (schema.GroupVersionKind, error) {
	for _, version := range versions(definition) {
		if name, _ := version["name"].(string); version["storage"] == true && version["served"] == true {
			return declares(definition).WithVersion(name), nil
		}
	}
	return schema.GroupVersionKind{}, errors.New("the CustomResourceDefinition stores its objects in no version that it serves")
}

// Guess returns what a kind is likely to be of which nothing is known but its name.
func Guess(gvk schema.GroupVersionKind) Kind {
	return Kind{Resource: plural(gvk), Kind: gvk.Kind, Namespaced: true}
}

// The kinds that come with Kubernetes, by their groups, those of its aggregator and of CustomResourceDefinitions included.
// Those that are only ever sent, such as reviews, are left out.
var (
	namespacedKinds = map[string]string{
		"":                          "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
		"apps":                      "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
		"autoscaling":               "HorizontalPodAutoscaler",
		"batch":                     "CronJob Job",
		"certificates.k8s.io":       "PodCertificateRequest",
		"coordination.k8s.io":       "Lease LeaseCandidate",
		"discovery.k8s.io":          "EndpointSlice",
		"events.k8s.io":             "Event",
		"lifecycle.k8s.io":          "EvictionRequest",
		"networking.k8s.io":         "Ingress NetworkPolicy",
		"policy":                    "PodDisruptionBudget",
		"rbac.authorization.k8s.io": "Role RoleBinding",
		"resource.k8s.io":           "ResourceClaim ResourceClaimTemplate",
		"scheduling.k8s.io":         "CompositePodGroup PodGroup Workload",
		"storage.k8s.io":            "CSIStorageCapacity",
	}
	clusterKinds = map[string]string{
		"": "ComponentStatus Namespace Node PersistentVolume",
		"admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
			"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
		"apiextensions.k8s.io":         "CustomResourceDefinition",
		"apiregistration.k8s.io":       "APIService",
		"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
		"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
		"internal.apiserver.k8s.io":    "StorageVersion",
		"networking.k8s.io":            "IPAddress IngressClass ServiceCIDR",
		"node.k8s.io":                  "RuntimeClass",
		"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
		"resource.k8s.io":              "DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice",
		"scheduling.k8s.io":            "PriorityClass",
		"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
		"storagemigration.k8s.io":      "StorageVersionMigration",
	}
)

// builtIn returns a kind that comes with Kubernetes. It takes any version.
func builtIn(gvk schema.GroupVersionKind) (Kind, bool) {
	is := func(of map[string]string) bool { return slices.Contains(strings.Fields(of[gvk.Group]), gvk.Kind) }
	if !is(namespacedKinds) && !is(clusterKinds) {
		return Kind{}, false
	}
	return Kind{Resource: plural(gvk), Kind: gvk.Kind, Namespaced: is(namespacedKinds)}, true
}

// BuiltIn returns the groups and kinds that come with Kubernetes, in no order.
func BuiltIn() []schema.GroupKind {
	var all []schema.GroupKind
	for _, of := range []map[string]string{namespacedKinds, clusterKinds} {
		for group, kinds := range of {
			for kind := range strings.FieldsSeq(kinds) {
				all = append(all, schema.GroupKind{Group: group, Kind: kind})
			}
		}
	}
	return all
}

// Plural returns the name of the resource of a kind, likewise.
func Plural(kind string) string { return plural(schema.GroupVersionKind{Kind: kind}).Resource }

// plural returns the resource of a kind by the rules of English, which those of Kubernetes follow, but for mailboxes,
// batches and dishes.
func plural(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	lower := strings.ToLower(gvk.Kind)
	if strings.HasSuffix(lower, "x") || strings.HasSuffix(lower, "ch") || strings.HasSuffix(lower, "sh") {
		return gvk.GroupVersion().WithResource(lower + "es")
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return resource
}
