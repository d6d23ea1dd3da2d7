package scaffold

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// refer are the kinds of objects that fields name: by the field, or by the field and the one around it.
var refer = map[string]string{
	"configMapKeyRef.name": "ConfigMap", "configMapRef.name": "ConfigMap", "configMap.name": "ConfigMap",
	"secretKeyRef.name": "Secret", "secretRef.name": "Secret", "secret.name": "Secret", "imagePullSecrets.name": "Secret", "secretName": "Secret",
	"serviceAccountName": "ServiceAccount", "serviceAccount": "ServiceAccount",
	"service.name": "Service", "serviceName": "Service",
	"claimName": "PersistentVolumeClaim", "storageClassName": "StorageClass", "priorityClassName": "PriorityClass",
	"ingressClassName": "IngressClass", "runtimeClassName": "RuntimeClass",
}

// last returns the nth field of a path from its end, from 0, without the indexes of lists.
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

// renamed returns what stands for the name of an object at a path, if the value there is one. in is the mapping around it.
func (m *manifests) renamed(value string, path []string, in map[string]any) (printed string, ok bool) {
	printed, isName := m.names[value]
	field, around := last(path, 0), last(path, 1)
	switch {
	case field == "namespace":
		kind, _ := in["kind"].(string)
		name, _ := in["name"].(string)
		return m.action(".metadata.namespace"), m.given[kind+"/"+name] && m.namespaces[value]
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

// word is a name as it can stand in a longer text.
var word = regexp.MustCompile(`[a-z0-9]([-a-z0-9]*[a-z0-9])?`)

// texts are the fields that programs read, and in which names of objects can stand.
var texts = []string{"value", "args", "command", "resourceNames"}

// remains notes the names of objects that stay in texts, as in the address of a Service.
func (m *manifests) remains(value string, path []string) {
	inData := len(path) == 2 && slices.Contains([]string{"data", "stringData"}, path[0])
	if !inData && !slices.Contains(texts, last(path, 0)) {
		return
	}
	for _, found := range word.FindAllString(value, -1) {
		if _, isName := m.names[found]; isName {
			written := strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
			m.notes = append(m.notes, Note{m.file, m.line, fmt.Sprintf("%s holds %s and is as it was: if that is the name of the object, print that of the parent there", written, found)})
			return
		}
	}
}

// strip removes what the API server and controllers have filled in, so that it is not asked for anew.
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

// withoutToken removes the volume that the API server adds to a Pod for the token of its account.
func withoutToken(pod map[string]any) {
	dropNamed(pod, "volumes")
	for _, field := range []string{"containers", "initContainers"} {
		for container := range mappings(pod, field) {
			dropNamed(container, "volumeMounts")
		}
	}
}

// mappings yields what a list in a mapping consists of, without what is no mapping.
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

// dropNamed removes the volume for the token, or what mounts it, from a list of them, and that if nothing is left.
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

// without removes keys of a mapping in a mapping, and that one if nothing is left.
func without(in map[string]any, field string, keys ...string) {
	from, _ := in[field].(map[string]any)
	for _, key := range keys {
		delete(from, key)
	}
	if len(from) == 0 {
		delete(in, field)
	}
}
