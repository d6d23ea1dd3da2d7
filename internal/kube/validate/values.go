package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/templater-dev/templater/internal/kube/object"
)

// optional are fields that the schema requires, but that the server defaults or accepts empty.
var optional = map[string]bool{
	"CertificateSigningRequestSpec.usages": true, "EndpointSlice.endpoints": true, "HTTPHeader.value": true, "ResourceFieldSelector.divisor": true,
	"SubjectAccessReviewStatus.allowed": true, "Toleration.key": true, "ContainerImage.names": true, "JSONPatch.expression": true,
	"LimitRangeSpec.limits": true, "CSINodeSpec.drivers": true, "PodFailurePolicy.rules": true, "Sysctl.value": true,
}

// structs are fields whose parts the server checks even if they are missing.
var structs = map[string]bool{"PodTemplateSpec.spec": true, "JobTemplateSpec.spec": true}

// A rule returns why a value that has the right type is invalid, in the words of the API server, or "".
type rule func(v any) string

// values are the rules for fields, by the type that has the field. A list has the rule of its items.
var values = map[string]map[string]rule{
	"ConfigMap":                     {"data": keys(validation.IsConfigMapKey), "binaryData": keys(validation.IsConfigMapKey)},
	"ConfigMapVolumeSource":         {"defaultMode": between(0, 0o777)},
	"Container":                     container,
	"ContainerPort":                 {"containerPort": port, "hostPort": anyPort, "name": names(validation.IsValidPortName), "protocol": protocol},
	"ContainerResourceMetricSource": {"container": names(content.IsDNS1123Label)},
	"CronJobSpec": {"startingDeadlineSeconds": atLeast(0), "successfulJobsHistoryLimit": atLeast(0), "failedJobsHistoryLimit": atLeast(0),
		"schedule": schedule},
	"CrossVersionObjectReference":     {"kind": names(content.IsPathSegmentName), "name": names(content.IsPathSegmentName)},
	"DaemonSetSpec":                   {"minReadySeconds": atLeast(0), "revisionHistoryLimit": atLeast(0)},
	"DeploymentSpec":                  {"replicas": atLeast(0), "minReadySeconds": atLeast(0), "revisionHistoryLimit": atLeast(0), "progressDeadlineSeconds": atLeast(0)},
	"DownwardAPIVolumeSource":         {"defaultMode": between(0, 0o777)},
	"EnvFromSource":                   {"prefix": names(validation.IsRelaxedEnvVarName)},
	"ConfigMapEnvSource":              {"name": names(content.IsDNS1123Subdomain)},
	"SecretEnvSource":                 {"name": names(content.IsDNS1123Subdomain)},
	"IngressClassParametersReference": {"kind": names(content.IsPathSegmentName), "name": names(content.IsPathSegmentName), "namespace": names(content.IsDNS1123Label), "scope": oneOf("Cluster", "Namespace")},
	"EndpointPort":                    {"name": names(content.IsDNS1123Label), "protocol": protocol},
	"EnvVar":                          {"name": names(validation.IsRelaxedEnvVarName)},
	"EphemeralContainer":              container,
	"GRPCAction":                      {"port": port},
	"HPAScalingPolicy":                {"type": oneOf("Pods", "Percent"), "value": atLeast(1), "periodSeconds": between(1, 1800)},
	"HPAScalingRules":                 {"stabilizationWindowSeconds": between(0, 3600), "selectPolicy": oneOf("Max", "Min", "Disabled")},
	"HTTPGetAction":                   {"port": portOrName, "scheme": oneOf("HTTP", "HTTPS")},
	"HTTPHeader":                      {"name": names(validation.IsHTTPHeaderName)},
	"HorizontalPodAutoscalerSpec":     {"minReplicas": atLeast(0), "maxReplicas": atLeast(1)},
	"IngressRule":                     {"host": host},
	"IngressClassSpec":                {"controller": domainPath},
	"IngressServiceBackend":           {"name": names(content.IsDNS1123Label)},
	"IngressSpec":                     {"ingressClassName": names(content.IsDNS1123Subdomain)},
	"IngressTLS":                      {"hosts": domainOrWildcard, "secretName": names(content.IsDNS1123Subdomain)},
	"JobSpec":                         {"parallelism": atLeast(0), "completions": atLeast(0), "activeDeadlineSeconds": atLeast(0), "backoffLimit": atLeast(0), "ttlSecondsAfterFinished": atLeast(0), "backoffLimitPerIndex": atLeast(0), "maxFailedIndexes": atLeast(0)},
	"KeyToPath":                       {"path": localPath, "mode": between(0, 0o777)},
	"LeaseSpec":                       {"leaseDurationSeconds": atLeast(1), "leaseTransitions": atLeast(0)},
	"LimitRangeItem":                  {"type": standardOr("Pod", "Container", "PersistentVolumeClaim")},
	"MetricSpec":                      {"type": oneOf("ContainerResource", "External", "Object", "Pods", "Resource")},
	"MetricTarget":                    {"type": oneOf("Utilization", "Value", "AverageValue"), "averageUtilization": atLeast(1)},
	"NetworkPolicyPort":               {"port": portOrName, "protocol": protocol, "endPort": port},
	"NetworkPolicySpec":               {"policyTypes": oneOf("Ingress", "Egress")},
	"NodeSelectorRequirement":         {"key": qualified},
	"PersistentVolumeClaimSpec":       {"storageClassName": names(content.IsDNS1123Subdomain)},
	"PersistentVolumeSpec":            {"storageClassName": names(content.IsDNS1123Subdomain)},
	"PodDisruptionBudgetSpec":         {"minAvailable": countOrPercent, "maxUnavailable": countOrPercent},
	"PodSpec": {"activeDeadlineSeconds": between(1, 1<<31-1), "nodeSelector": labelMap, "hostname": names(content.IsDNS1123Label),
		"subdomain": names(content.IsDNS1123Label), "serviceAccountName": names(content.IsDNS1123Subdomain), "nodeName": names(content.IsDNS1123Subdomain), "priorityClassName": names(content.IsDNS1123Subdomain)},
	"PreferredSchedulingTerm": {"weight": between(1, 100)},
	"Probe":                   {"initialDelaySeconds": atLeast(0), "timeoutSeconds": atLeast(0), "periodSeconds": atLeast(0), "successThreshold": atLeast(0), "failureThreshold": atLeast(0), "terminationGracePeriodSeconds": atLeast(1)},
	"ReplicaSetSpec":          {"replicas": atLeast(0), "minReadySeconds": atLeast(0)},
	"ReplicationControllerSpec": {
		"replicas": atLeast(0), "minReadySeconds": atLeast(0)},
	"ResourceQuotaSpec":        {"scopes": oneOf("BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating", "VolumeAttributesClass")},
	"RollingUpdateDaemonSet":   {"maxUnavailable": countOrPercent, "maxSurge": countOrPercent},
	"RollingUpdateDeployment":  {"maxUnavailable": countOrPercent, "maxSurge": anyCountOrPercent},
	"RollingUpdateStatefulSet": {"partition": atLeast(0), "maxUnavailable": countOrPercent},
	"RoleRef":                  {"apiGroup": oneOf("rbac.authorization.k8s.io"), "name": names(content.IsPathSegmentName)},
	"Secret":                   {"data": keys(validation.IsConfigMapKey), "stringData": keys(validation.IsConfigMapKey)},
	"SecretVolumeSource":       {"defaultMode": between(0, 0o777)},
	"ServiceBackendPort":       {"number": anyPort, "name": names(validation.IsValidPortName)},
	"ServicePort":              {"port": port, "nodePort": anyPort, "targetPort": anyPortOrName, "protocol": protocol, "name": names(content.IsDNS1123Label)},
	"ServiceSpec": {"type": oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"), "sessionAffinity": oneOf("ClientIP", "None"), "clusterIP": ipOrNone, "externalIPs": ip, "loadBalancerSourceRanges": cidr,
		"selector": labelMap, "healthCheckNodePort": anyPort},
	"ClientIPConfig":           {"timeoutSeconds": between(1, 86400)},
	"StatefulSetOrdinals":      {"start": atLeast(0)},
	"StatefulSetSpec":          {"replicas": atLeast(0), "minReadySeconds": atLeast(0), "podManagementPolicy": oneOf("OrderedReady", "Parallel"), "serviceName": names(content.IsDNS1123Label)},
	"StorageClass":             {"provisioner": names(func(text string) []string { return content.IsLabelKey(strings.ToLower(text)) })},
	"TCPSocketAction":          {"port": portOrName},
	"Toleration":               {"key": qualified, "value": names(content.IsLabelValue)},
	"TopologySpreadConstraint": {"maxSkew": atLeast(1), "minDomains": atLeast(1)},
	"Volume":                   {"name": names(content.IsDNS1123Label)},
	"IPBlock":                  {"cidr": cidr, "except": cidr},
	"WeightedPodAffinityTerm":  {"weight": between(1, 100)},
	"PodAffinityTerm":          {"topologyKey": qualified},
	"PodSecurityContext":       ids,
	"SecurityContext":          ids,
}

var (
	container = map[string]rule{"name": names(content.IsDNS1123Label), "image": trimmed}
	ids       = map[string]rule{"runAsUser": atLeast(0), "runAsGroup": atLeast(0), "fsGroup": atLeast(0), "supplementalGroups": atLeast(0)}

	port      = between(1, 65535)
	anyPort   = between(0, 65535) // 0 is unset
	protocol  = oneOf("SCTP", "TCP", "UDP")
	qualified = names(content.IsLabelKey)
	percent   = regexp.MustCompile(`^[0-9]+%$`)
)

func atLeast(least int64) rule {
	return func(v any) string {
		if n, isNumber := number(v); isNumber && n < least {
			return fmt.Sprintf("must be greater than or equal to %d", least)
		}
		return ""
	}
}

func between(least, most int64) rule {
	return func(v any) string {
		if n, isNumber := number(v); isNumber && (n < least || n > most) {
			return fmt.Sprintf("must be between %d and %d, inclusive", least, most)
		}
		return ""
	}
}

// each applies a rule for strings to a string, or to the items of a list.
func each(check func(text string) string) rule {
	return func(v any) string {
		items, isList := v.([]any)
		if !isList {
			items = []any{v}
		}
		for _, item := range items {
			if text, isText := item.(string); isText {
				if detail := check(text); detail != "" {
					return detail
				}
			}
		}
		return ""
	}
}

func names(check func(string) []string) rule {
	return each(func(text string) string { return strings.Join(check(text), "; ") })
}

func oneOf(words ...string) rule {
	return each(func(text string) string {
		if slices.Contains(words, text) {
			return ""
		}
		return "must be one of " + strings.Join(words, ", ")
	})
}

// standardOr allows words, and names with a domain.
func standardOr(words ...string) rule {
	return each(func(text string) string {
		if slices.Contains(words, text) || strings.Contains(text, "/") && qualified(text) == "" {
			return ""
		}
		return "must be a standard name or fully qualified"
	})
}

// keys is a rule for the keys of a map.
func keys(check func(string) []string) rule {
	return func(v any) string {
		content, _ := v.(map[string]any)
		for key := range content {
			if details := check(key); len(details) > 0 {
				return strings.Join(details, "; ")
			}
		}
		return ""
	}
}

func labelMap(v any) string {
	for key, value := range texts(v) {
		if details := append(content.IsLabelKey(key), content.IsLabelValue(value)...); len(details) > 0 {
			return strings.Join(details, "; ")
		}
	}
	return ""
}

func portOrName(v any) string {
	if text, isText := v.(string); isText {
		return strings.Join(validation.IsValidPortName(text), "; ")
	}
	return port(v)
}

func anyPortOrName(v any) string {
	if n, isNumber := number(v); isNumber && n == 0 {
		return ""
	}
	return portOrName(v)
}

func anyCountOrPercent(v any) string {
	if text, isText := v.(string); isText {
		if !percent.MatchString(text) {
			return "a valid percent string must be a numeric string followed by an ending '%'"
		}
		return ""
	}
	return atLeast(0)(v)
}

func countOrPercent(v any) string {
	if text, isText := v.(string); isText && percent.MatchString(text) {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, "%")); err != nil || n > 100 {
			return "must not be greater than 100%"
		}
	}
	return anyCountOrPercent(v)
}

var (
	host = each(func(text string) string {
		if netutils.ParseIPSloppy(text) != nil {
			return "must be a DNS name, not an IP address"
		}
		return domainOrWildcard(text)
	})
	domainOrWildcard = names(func(text string) []string {
		if strings.Contains(text, "*") {
			return validation.IsWildcardDNS1123Subdomain(text)
		}
		return content.IsDNS1123Subdomain(text)
	})
	ip = each(func(text string) string {
		if netutils.ParseIPSloppy(text) == nil {
			return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
		}
		return ""
	})
	ipOrNone = each(func(text string) string {
		if text == "None" {
			return ""
		}
		return ip(text)
	})
	cidr = each(func(text string) string {
		if _, _, err := netutils.ParseCIDRSloppy(strings.TrimSpace(text)); err != nil {
			return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
		}
		return ""
	})
	trimmed = each(func(text string) string {
		if strings.TrimSpace(text) != text {
			return "must not have leading or trailing whitespace"
		}
		return ""
	})
	localPath = each(func(text string) string {
		for part := range strings.SplitSeq(text, "/") {
			if part == ".." {
				return "must not contain '..'"
			}
		}
		if strings.HasPrefix(text, "/") {
			return "must be a relative path"
		}
		return ""
	})
	domainPath = names(func(text string) []string { return errorsOf(validation.IsDomainPrefixedPath(nil, text)) })
	cronField  = regexp.MustCompile(`^[0-9A-Za-z*/,?-]+$`)
	schedule   = each(func(text string) string {
		fields := strings.Fields(text)
		if strings.HasPrefix(text, "@") {
			return ""
		}
		if len(fields) != 5 {
			return fmt.Sprintf("expected exactly 5 fields, found %d", len(fields))
		}
		for i, each := range fields {
			if !cronField.MatchString(each) {
				return fmt.Sprintf("failed to parse field %d", i+1)
			}
		}
		return ""
	})
)

// errorsOf returns the details of errors.
func errorsOf(errs field.ErrorList) []string {
	var details []string
	for _, err := range errs {
		details = append(details, err.Detail)
	}
	return details
}

// negative reports whether a value is a negative quantity.
func negative(v any) bool {
	q, err := object.ParseQuantity(fmt.Sprint(v))
	return err == nil && q.Sign() < 0
}
