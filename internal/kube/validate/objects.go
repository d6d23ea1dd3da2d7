package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An objectRule checks fields of a type that depend on each other.
type objectRule func(c *checker, o map[string]any, at *field.Path)

// objects are the rules by type.
var objects = map[string]objectRule{
	"Container": resources,
	"CronJobSpec": func(c *checker, o map[string]any, at *field.Path) {
		jobPolicy(c, part(o, "jobTemplate", "spec"), child(at, "jobTemplate").Child("spec"))
	},
	"ConfigMap":          configMap,
	"DaemonSetSpec":      workload,
	"DeploymentSpec":     deployment,
	"DeploymentStrategy": rollingOnly("rollingUpdate", "Recreate", "OnDelete"),
	"ConfigMapEnvSource": needing("name"),
	"SecretEnvSource":    needing("name"),
	"ExecAction":         needing("command"),
	"EnvVar":             envVar,
	"EnvVarSource":       exactlyOne("", "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"),
	"EnvFromSource":      exactlyOne("", "configMapRef", "secretRef"),
	"HPAScalingRules": func(c *checker, o map[string]any, at *field.Path) {
		if o["policies"] != nil {
			c.needs(o, "policies", at)
		}
	},
	"HorizontalPodAutoscalerSpec":     autoscaler,
	"HTTPIngressPath":                 ingressPath,
	"IngressBackend":                  exactlyOne("resource or service backend is required", "service", "resource"),
	"IngressServiceBackend":           func(c *checker, o map[string]any, at *field.Path) { backendPort(c, part(o, "port"), child(at, "port")) },
	"IngressSpec":                     ingress,
	"JobSpec":                         jobPolicy,
	"LifecycleHandler":                exactlyOne("must specify a handler type", "exec", "httpGet", "tcpSocket", "sleep"),
	"LimitRangeItem":                  limits,
	"MetricSpec":                      metric,
	"NetworkPolicyPeer":               peer,
	"NetworkPolicyPort":               policyPort,
	"PersistentVolumeClaimSpec":       claim,
	"PersistentVolumeSpec":            volume,
	"PodDisruptionBudgetSpec":         budget,
	"PodSpec":                         pod,
	"PolicyRule":                      policyRule,
	"Probe":                           probe,
	"ReplicaSetSpec":                  workload,
	"ResourceQuotaSpec":               quota,
	"RoleRef":                         roleRef,
	"Secret":                          secret,
	"ServiceSpec":                     service,
	"StatefulSetSpec":                 workload,
	"Subject":                         subject,
	"Toleration":                      toleration,
	"ReplicationControllerSpec":       replicationController,
	"IngressClassSpec":                needing("controller"),
	"IngressClassParametersReference": classParameters,
	"EndpointSlice":                   endpointSlice,
	"LimitRangeSpec": func(c *checker, o map[string]any, at *field.Path) {
		c.unique(list(o, "limits"), "type", child(at, "limits"))
	},
	"Volume": podVolume,
}

// needs adds an error if a field is empty.
func (c *checker) needs(o map[string]any, name string, at *field.Path) {
	if isEmpty(o[name]) {
		c.required(child(at, name), "")
	}
}

// needing is the rule that a field is not empty, although the schema does not require it.
func needing(name string) objectRule {
	return func(c *checker, o map[string]any, at *field.Path) { c.needs(o, name, at) }
}

// exactlyOne adds an error if none or several of the fields are set.
func exactlyOne(none string, names ...string) objectRule {
	return func(c *checker, o map[string]any, at *field.Path) {
		var set []string
		for _, name := range names {
			if o[name] != nil {
				set = append(set, name)
			}
		}
		if len(set) == 0 {
			if none == "" {
				none = "must specify one of: " + strings.Join(names, ", ")
			}
			c.required(at, none)
		}
		if len(set) > 1 {
			c.invalid(at, "", "may not have more than one field specified at a time")
		}
	}
}

// rollingOnly forbids a field for some types of a strategy.
func rollingOnly(name string, types ...string) objectRule {
	return func(c *checker, o map[string]any, at *field.Path) {
		if kind := text(o, "type"); o[name] != nil && slices.Contains(types, kind) {
			c.errs = append(c.errs, field.Forbidden(child(at, name), fmt.Sprintf("may not be specified when strategy `type` is '%s'", kind)))
		}
	}
}

// workload checks the selector and the restart policy of an object with a Pod template.
func workload(c *checker, o map[string]any, at *field.Path) {
	template := part(o, "template")
	if policy := text(template, "spec", "restartPolicy"); policy != "" && policy != "Always" {
		c.errs = append(c.errs, field.NotSupported(child(at, "template").Child("spec", "restartPolicy"), policy, []string{"Always"}))
	}
	content := part(o, "selector")
	if content == nil {
		if o["selector"] == nil && !c.has(field.ErrorTypeRequired, child(at, "selector")) {
			c.required(child(at, "selector"), "")
		}
		return
	}
	selector := &metav1.LabelSelector{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, selector) != nil {
		return
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		c.invalid(child(at, "selector"), "", "empty selector is invalid for "+strings.ToLower(c.kind.Kind))
		return
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil && !matches.Matches(labels.Set(texts(part(template, "metadata", "labels")))) {
		c.invalid(child(at, "template").Child("metadata", "labels"), "", "`selector` does not match template `labels`")
	}
}

func (c *checker) has(of field.ErrorType, at *field.Path) bool {
	return slices.ContainsFunc(c.errs, func(err *field.Error) bool { return err.Type == of && err.Field == at.String() })
}

func deployment(c *checker, o map[string]any, at *field.Path) {
	workload(c, o, at)
	deadline, set := number(o["progressDeadlineSeconds"])
	minReady, _ := number(o["minReadySeconds"])
	if !set {
		deadline = 600
	}
	if deadline <= minReady {
		c.invalid(child(at, "progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")
	}
	rolling := part(o, "strategy", "rollingUpdate")
	zero := func(v any) bool { return v == "0%" || v != nil && fmt.Sprint(v) == "0" }
	if zero(rolling["maxUnavailable"]) && zero(rolling["maxSurge"]) {
		c.invalid(child(at, "strategy").Child("rollingUpdate", "maxUnavailable"), 0, "may not be 0 when `maxSurge` is 0")
	}
}

func jobPolicy(c *checker, o map[string]any, at *field.Path) {
	switch policy := text(o, "template", "spec", "restartPolicy"); policy {
	case "OnFailure", "Never":
	case "", "Always":
		c.required(child(at, "template").Child("spec", "restartPolicy"), `valid values: "OnFailure", "Never"`)
	}
	if mode := text(o, "completionMode"); mode == "Indexed" && o["completions"] == nil {
		c.required(child(at, "completions"), "when completion mode is Indexed")
	} else if mode != "Indexed" {
		for _, name := range []string{"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"} {
			if o[name] != nil {
				c.invalid(child(at, name), "", "requires indexed completion mode")
			}
		}
	}
	if c.kind.Kind == "Job" && o["selector"] != nil && o["manualSelector"] != true {
		c.invalid(child(at, "selector"), "", "`selector` not auto-generated")
	}
}

func configMap(c *checker, o map[string]any, _ *field.Path) {
	data := part(o, "data")
	for _, key := range slices.Sorted(maps.Keys(part(o, "binaryData"))) {
		if _, both := data[key]; both {
			c.invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData")
		}
	}
}

// secretKeys are the keys that Secrets of a type need.
var secretKeys = map[string][]string{
	"kubernetes.io/dockercfg": {".dockercfg"}, "kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/ssh-auth": {"ssh-privatekey"}, "kubernetes.io/tls": {"tls.crt", "tls.key"},
}

func secret(c *checker, o map[string]any, _ *field.Path) {
	data := map[string]any{}
	maps.Copy(data, part(o, "data"))
	maps.Copy(data, part(o, "stringData"))
	for _, key := range secretKeys[text(o, "type")] {
		if data[key] == nil {
			c.required(field.NewPath("data").Key(key), "")
		}
	}
	if text(o, "type") == "kubernetes.io/basic-auth" && data["username"] == nil && data["password"] == nil {
		c.required(field.NewPath("data").Key("username"), "")
	}
	if account := "kubernetes.io/service-account.name"; text(o, "type") == "kubernetes.io/service-account-token" && text(o, "metadata", "annotations", account) == "" {
		c.required(field.NewPath("metadata", "annotations").Key(account), "")
	}
}

func envVar(c *checker, o map[string]any, at *field.Path) {
	if o["valueFrom"] != nil && text(o, "value") != "" {
		c.invalid(child(at, "valueFrom"), "", "may not be specified when `value` is not empty")
	}
}

func ingress(c *checker, o map[string]any, at *field.Path) {
	if isEmpty(o["rules"]) && o["defaultBackend"] == nil {
		c.invalid(at, "", "either `defaultBackend` or `rules` must be specified")
	}
}

func ingressPath(c *checker, o map[string]any, at *field.Path) {
	path, kind := text(o, "path"), text(o, "pathType")
	if kind != "" && !strings.HasPrefix(path, "/") && (path != "" || kind != "ImplementationSpecific") {
		c.invalid(child(at, "path"), path, "must be an absolute path")
	}
	if kind == "Exact" || kind == "Prefix" {
		for _, wrong := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path, wrong) {
				c.invalid(child(at, "path"), path, fmt.Sprintf("must not contain '%s'", wrong))
			}
		}
	}
}

func backendPort(c *checker, o map[string]any, at *field.Path) {
	n, _ := number(o["number"])
	switch name := text(o, "name"); {
	case name == "" && n == 0:
		c.required(at, "port name or number is required")
	case name != "" && n != 0:
		c.invalid(at, "", "cannot set both port name & port number")
	}
}

func autoscaler(c *checker, o map[string]any, at *field.Path) {
	least, set := number(o["minReplicas"])
	most, _ := number(o["maxReplicas"])
	if set && least > most && most > 0 {
		c.invalid(child(at, "maxReplicas"), most, "must be greater than or equal to `minReplicas`")
	}
	external := slices.ContainsFunc(list(o, "metrics"), func(m map[string]any) bool { return m["type"] == "Object" || m["type"] == "External" })
	if set && least == 0 && !external {
		c.errs = append(c.errs, field.Forbidden(child(at, "metrics"), "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
}

func metric(c *checker, o map[string]any, at *field.Path) {
	kind := text(o, "type")
	if kind == "" {
		return
	}
	name := strings.ToLower(kind[:1]) + kind[1:]
	if o[name] == nil {
		c.required(child(at, name), "must populate information for the given metric source")
	}
	target := part(o, name, "target")
	if target != nil && !slices.ContainsFunc([]string{"averageUtilization", "value", "averageValue"}, func(f string) bool { return target[f] != nil }) {
		c.required(child(at, name).Child("target"), "must set either a target")
	}
}

func peer(c *checker, o map[string]any, at *field.Path) {
	selectors := o["podSelector"] != nil || o["namespaceSelector"] != nil
	switch {
	case o["ipBlock"] != nil && selectors:
		c.errs = append(c.errs, field.Forbidden(at, "may not specify both ipBlock and another peer"))
	case o["ipBlock"] == nil && !selectors:
		c.required(at, "must specify a peer")
	}
}

func policyPort(c *checker, o map[string]any, at *field.Path) {
	end, set := number(o["endPort"])
	if start, isNumber := number(o["port"]); set && (!isNumber || end < start) {
		c.invalid(child(at, "endPort"), end, "must be greater than or equal to `port`")
	}
}

func claim(c *checker, o map[string]any, at *field.Path) {
	c.needs(o, "accessModes", at)
	modes, _ := o["accessModes"].([]any)
	if slices.Contains(modes, any("ReadWriteOncePod")) && slices.ContainsFunc(modes, func(m any) bool { return m != "ReadWriteOncePod" }) {
		c.errs = append(c.errs, field.Forbidden(child(at, "accessModes"), "may not use ReadWriteOncePod with other access modes"))
	}
	storage := child(at, "resources").Key("storage")
	switch size := part(o, "resources", "requests")["storage"]; {
	case size == nil:
		c.required(storage, "")
	case fmt.Sprint(size) == "0" || negative(size):
		c.invalid(storage, size, "must be greater than zero")
	}
}

func volume(c *checker, o map[string]any, at *field.Path) {
	c.needs(o, "accessModes", at)
	if part(o, "capacity")["storage"] == nil {
		c.required(child(at, "capacity"), "")
	}
	sources := []string{"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume", "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs",
		"photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"}
	if !slices.ContainsFunc(sources, func(name string) bool { return o[name] != nil }) {
		c.required(at, "must specify a volume type")
	}
	if o["local"] != nil && part(o, "nodeAffinity") == nil {
		c.required(child(at, "nodeAffinity"), "Local volume requires node affinity")
	}
}

func podVolume(c *checker, o map[string]any, at *field.Path) {
	sources := 0
	for name, v := range o {
		if name != "name" && v != nil {
			sources++
		}
	}
	if sources > 1 {
		c.errs = append(c.errs, field.Forbidden(at, "may not specify more than 1 volume type"))
	}
}

func budget(c *checker, o map[string]any, at *field.Path) {
	if o["minAvailable"] != nil && o["maxUnavailable"] != nil {
		c.invalid(at, "", "minAvailable and maxUnavailable cannot be both set")
	}
}

func probe(c *checker, o map[string]any, at *field.Path) {
	exactlyOne("must specify a handler type", "exec", "httpGet", "tcpSocket", "grpc")(c, o, at)
	n, set := number(o["successThreshold"])
	if kind := at.String(); set && n != 1 && (strings.HasSuffix(kind, "livenessProbe") || strings.HasSuffix(kind, "startupProbe")) {
		c.invalid(child(at, "successThreshold"), n, "must be 1")
	}
}

func policyRule(c *checker, o map[string]any, at *field.Path) {
	if isEmpty(o["nonResourceURLs"]) {
		c.needs(o, "apiGroups", at)
		c.needs(o, "resources", at)
		return
	}
	if c.kind.Kind == "Role" {
		c.invalid(child(at, "nonResourceURLs"), "", "namespaced rules cannot apply to non-resource URLs")
	}
	if !isEmpty(o["apiGroups"]) || !isEmpty(o["resources"]) || !isEmpty(o["resourceNames"]) {
		c.invalid(child(at, "nonResourceURLs"), "", "rules cannot apply to both regular resources and non-resource URLs")
	}
}

func roleRef(c *checker, o map[string]any, at *field.Path) {
	allowed := []string{"Role", "ClusterRole"}
	if c.kind.Kind == "ClusterRoleBinding" {
		allowed = allowed[1:]
	}
	if kind := text(o, "kind"); kind != "" && !slices.Contains(allowed, kind) {
		c.errs = append(c.errs, field.NotSupported(child(at, "kind"), kind, allowed))
	}
}

func subject(c *checker, o map[string]any, at *field.Path) {
	if c.kind.Group != "rbac.authorization.k8s.io" {
		return
	}
	group, kind := text(o, "apiGroup"), text(o, "kind")
	allowed := "rbac.authorization.k8s.io"
	switch kind {
	case "ServiceAccount":
		allowed = ""
		if c.kind.Kind == "ClusterRoleBinding" {
			c.needs(o, "namespace", at)
		}
		if name := text(o, "name"); name != "" {
			if detail := values["PodSpec"]["serviceAccountName"](name); detail != "" {
				c.invalid(child(at, "name"), name, detail)
			}
		}
	case "User", "Group":
	default:
		c.errs = append(c.errs, field.NotSupported(child(at, "kind"), kind, []string{"ServiceAccount", "User", "Group"}))
		return
	}
	if group != "" && group != allowed {
		c.errs = append(c.errs, field.NotSupported(child(at, "apiGroup"), group, []string{allowed}))
	}
}

func service(c *checker, o map[string]any, at *field.Path) {
	kind, ports := text(o, "type"), list(o, "ports")
	ips, _ := o["clusterIPs"].([]any)
	headless := text(o, "clusterIP") == "None" || len(ips) > 0 && ips[0] == "None"
	switch {
	case kind == "ExternalName":
		if name := text(o, "externalName"); name == "" {
			c.required(child(at, "externalName"), "")
		}
	case len(ports) == 0 && !headless:
		c.required(child(at, "ports"), "")
	}
	if headless && (kind == "NodePort" || kind == "LoadBalancer") {
		c.invalid(child(at, "clusterIPs").Index(0), "None", "may not be set to 'None' for "+kind+" services")
	}
	c.servicePorts(ports, kind, child(at, "ports"))
	c.serviceType(o, kind, at)
}

func (c *checker) servicePorts(ports []map[string]any, kind string, at *field.Path) {
	for i, p := range ports {
		if text(p, "name") == "" && len(ports) > 1 {
			c.required(at.Index(i).Child("name"), "")
		}
		if n, _ := number(p["nodePort"]); n != 0 && (kind == "" || kind == "ClusterIP") {
			c.errs = append(c.errs, field.Forbidden(at.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
	}
	c.unique(ports, "name", at)
}

// serviceType checks the fields that only some types of Services have.
func (c *checker) serviceType(o map[string]any, kind string, at *field.Path) {
	outside := kind == "NodePort" || kind == "LoadBalancer" || !isEmpty(o["externalIPs"])
	if text(o, "externalTrafficPolicy") != "" && !outside {
		c.invalid(child(at, "externalTrafficPolicy"), text(o, "externalTrafficPolicy"), "may only be set for externally-accessible services")
	}
	if kind != "LoadBalancer" {
		for _, name := range []string{"loadBalancerClass", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts"} {
			if !isEmpty(o[name]) {
				c.errs = append(c.errs, field.Forbidden(child(at, name), "may only be used when `type` is 'LoadBalancer'"))
			}
		}
	}
	if o["sessionAffinityConfig"] != nil && text(o, "sessionAffinity") == "None" {
		c.errs = append(c.errs, field.Forbidden(child(at, "sessionAffinityConfig"), "must not be set when session affinity is None"))
	}
}

func toleration(c *checker, o map[string]any, at *field.Path) {
	operator := text(o, "operator")
	if text(o, "key") == "" && operator != "Exists" {
		c.invalid(child(at, "operator"), operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
	}
	if operator == "Exists" && text(o, "value") != "" {
		c.invalid(child(at, "operator"), operator, "value must be empty when `operator` is 'Exists'")
	}
	if o["tolerationSeconds"] != nil && text(o, "effect") != "NoExecute" {
		c.invalid(child(at, "effect"), text(o, "effect"), "effect must be 'NoExecute' when `tolerationSeconds` is set")
	}
}

func replicationController(c *checker, o map[string]any, at *field.Path) {
	of := texts(part(o, "template", "metadata", "labels"))
	for key, value := range texts(o["selector"]) {
		if of[key] != value {
			c.invalid(child(at, "template").Child("metadata", "labels"), "", "`selector` does not match template `labels`")
			return
		}
	}
}

func classParameters(c *checker, o map[string]any, at *field.Path) {
	switch scope := text(o, "scope"); {
	case scope == "Namespace":
		c.needs(o, "namespace", at)
	case o["namespace"] != nil && (scope == "" || scope == "Cluster"):
		c.errs = append(c.errs, field.Forbidden(child(at, "namespace"), "`parameters.scope` is set to 'Cluster'"))
	}
}

func endpointSlice(c *checker, o map[string]any, at *field.Path) {
	c.unique(list(o, "ports"), "name", child(at, "ports"))
	kind := text(o, "addressType")
	for i, endpoint := range list(o, "endpoints") {
		addresses, _ := endpoint["addresses"].([]any)
		for j, address := range addresses {
			if detail := ip(address); kind != "FQDN" && (detail != "" || address == "") {
				c.invalid(child(at, "endpoints").Index(i).Child("addresses").Index(j), address, detail)
			}
		}
	}
}
