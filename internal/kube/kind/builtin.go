package kind

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
