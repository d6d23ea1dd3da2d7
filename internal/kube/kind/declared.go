package kind

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Declared resolves kinds offline: those of CustomResourceDefinitions in files, and built-in kinds. It is safe for concurrent
// use.
type Declared []map[string]any

// Resolve returns the kind in that version, or a *NotFoundError.
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

// Schema returns the schema of a kind in that version, or nil if there is none.
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

// All returns the groups and kinds of the CustomResourceDefinitions.
func (d Declared) All() []schema.GroupKind {
	all := make([]schema.GroupKind, len(d))
	for i, definition := range d {
		all[i] = declares(definition)
	}
	return all
}

// Stored returns the kind of a CustomResourceDefinition in its storage version. It returns an error if that version is not
// served.
func Stored(definition map[string]any) (schema.GroupVersionKind, error) {
	for _, version := range versions(definition) {
		if name, _ := version["name"].(string); version["storage"] == true && version["served"] == true {
			return declares(definition).WithVersion(name), nil
		}
	}
	return schema.GroupVersionKind{}, errors.New("the CustomResourceDefinition does not serve its storage version")
}

// Guess returns the likely Kind for an unknown kind: namespaced, with a regular plural.
func Guess(gvk schema.GroupVersionKind) Kind {
	return Kind{Resource: plural(gvk), Kind: gvk.Kind, Namespaced: true}
}

// The built-in kinds by group, including those of kube-aggregator and apiextensions. Kinds that are not stored, such as reviews,
// are omitted.
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

// builtIn returns a built-in kind. It accepts any version.
func builtIn(gvk schema.GroupVersionKind) (Kind, bool) {
	is := func(of map[string]string) bool { return slices.Contains(strings.Fields(of[gvk.Group]), gvk.Kind) }
	if !is(namespacedKinds) && !is(clusterKinds) {
		return Kind{}, false
	}
	return Kind{Resource: plural(gvk), Kind: gvk.Kind, Namespaced: is(namespacedKinds)}, true
}

// BuiltIn returns the groups and kinds of all built-in kinds, in no particular order.
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

// Plural returns the likely resource name of a kind.
func Plural(kind string) string { return plural(schema.GroupVersionKind{Kind: kind}).Resource }

// plural returns the likely resource of a kind, according to English plural rules. meta.UnsafeGuessKindToResource does not handle
// plurals such as mailboxes, batches, dishes and gateways.
func plural(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	lower := strings.ToLower(gvk.Kind)
	if strings.HasSuffix(lower, "x") || strings.HasSuffix(lower, "ch") || strings.HasSuffix(lower, "sh") {
		return gvk.GroupVersion().WithResource(lower + "es")
	}
	if n := len(lower); n > 1 && lower[n-1] == 'y' && strings.ContainsRune("aeiou", rune(lower[n-2])) {
		return gvk.GroupVersion().WithResource(lower + "s")
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return resource
}
