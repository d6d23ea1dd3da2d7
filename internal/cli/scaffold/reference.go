package scaffold

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// refer maps reference fields to kinds: by field name, or by field name and parent field.
var refer = map[string]string{
	"configMapKeyRef.name": "ConfigMap", "configMapRef.name": "ConfigMap", "configMap.name": "ConfigMap",
	"secretKeyRef.name": "Secret", "secretRef.name": "Secret", "secret.name": "Secret", "imagePullSecrets.name": "Secret", "secretName": "Secret",
	"serviceAccountName": "ServiceAccount", "serviceAccount": "ServiceAccount",
	"service.name": "Service", "serviceName": "Service",
	"claimName": "PersistentVolumeClaim", "storageClassName": "StorageClass", "priorityClassName": "PriorityClass",
	"ingressClassName": "IngressClass", "runtimeClassName": "RuntimeClass",
}

// last returns the nth field of a path from its end, from 0, without list indexes.
func last(path []string, n int) string {
	for _, field := range slices.Backward(path) {
		if field == "[]" {
			continue
		}
		if n == 0 {
			return field
		}
		n--
	}
	return ""
}

// renamed returns the template text for a value at a path that references an object. in is the mapping around it.
func (m *manifests) renamed(value string, path []string, in map[string]any) (printed string, ok bool) {
	printed, isName := m.names[value]
	field, around := last(path, 0), last(path, 1)
	switch {
	case field == "namespace":
		kind, _ := in["kind"].(string)
		name, _ := in["name"].(string)
		return m.action(".metadata.namespace"), m.given[kind+"/"+name] && (m.namespaces[value] || len(m.namespaces) == 0)
	case !isName:
		return "", false
	case slices.Equal(path, []string{"metadata", "name"}):
		return printed, true
	case slices.Contains([]string{"labels", "matchLabels", "selector"}, around) && path[len(path)-2] == around,
		field == "values" && around == "matchExpressions" && !slices.Contains(path, "nodeSelectorTerms"):
		return strings.Replace(printed, m.action(".metadata.name"), m.action(".metadata.name | dnsLabel"), 1), true
	}
	kind, found := refer[around+"."+field]
	if !found {
		kind, found = refer[field]
	}
	if !found && field == "name" {
		kind, _ = in["kind"].(string)
	}
	return printed, m.given[kind+"/"+value]
}

// word matches a name in a longer text.
var word = regexp.MustCompile(`[a-z0-9]([-a-z0-9]*[a-z0-9])?`)

// texts are fields for programs that can contain names of objects.
var texts = []string{"value", "args", "command", "resourceNames"}

// remains adds notes about names of objects that are kept in texts, such as the address of a Service.
func (m *manifests) remains(value string, path []string) {
	inData := len(path) == 2 && slices.Contains([]string{"data", "stringData"}, path[0])
	if !inData && !slices.Contains(texts, last(path, 0)) {
		return
	}
	for _, found := range word.FindAllString(value, -1) {
		if _, isName := m.names[found]; isName {
			written := strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
			m.notes = append(m.notes, Note{m.file, m.line, fmt.Sprintf("%s contains %s and is unchanged: if that is the name of the object, use the parent's name there", written, found)})
			return
		}
	}
}

// strip removes fields that the API server and controllers set, so that the template does not set them.
func strip(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	metadata, _ := content["metadata"].(map[string]any)
	switch content["kind"] {
	case "Service":
		if spec["clusterIP"] != "None" {
			delete(spec, "clusterIP")
		}
		delete(spec, "clusterIPs")
		delete(spec, "healthCheckNodePort")
		for port := range mappings(spec, "ports") {
			delete(port, "nodePort")
		}
	case "PersistentVolumeClaim":
		delete(spec, "volumeName")
		without(metadata, "annotations", "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node",
			"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
	case "Job":
		if spec["manualSelector"] == true {
			return
		}
		delete(spec, "selector")
		for _, in := range []map[string]any{metadata, inside(spec, []string{"template", "metadata"})} {
			without(in, "labels", "controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
		}
	case "StatefulSet":
		for claim := range mappings(spec, "volumeClaimTemplates") {
			delete(claim, "status")
		}
	case "Pod":
		delete(spec, "nodeName")
		withoutToken(spec)
	}
}

// withoutToken removes the volume that the API server adds to a Pod for the token of its service account.
func withoutToken(pod map[string]any) {
	dropNamed(pod, "volumes")
	for _, field := range []string{"containers", "initContainers"} {
		for container := range mappings(pod, field) {
			dropNamed(container, "volumeMounts")
		}
	}
}

// mappings iterates over the mappings in a list of a mapping.
func mappings(in map[string]any, field string) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		all, _ := in[field].([]any)
		for _, item := range all {
			if each, ok := item.(map[string]any); ok && !yield(each) {
				return
			}
		}
	}
}

// dropNamed removes the token volume or its mount from a list, and removes an empty list.
func dropNamed(in map[string]any, field string) {
	all, _ := in[field].([]any)
	if all == nil {
		return
	}
	all = slices.DeleteFunc(all, func(item any) bool {
		each, _ := item.(map[string]any)
		name, _ := each["name"].(string)
		return strings.HasPrefix(name, "kube-api-access-")
	})
	if in[field] = all; len(all) == 0 {
		delete(in, field)
	}
}

// without removes keys of a nested mapping, and removes an empty mapping.
func without(in map[string]any, field string, keys ...string) {
	from, _ := in[field].(map[string]any)
	for _, key := range keys {
		delete(from, key)
	}
	if len(from) == 0 {
		delete(in, field)
	}
}
