package scaffold

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lift turns typical settings of an object into fields of the parent: replicas, images, hosts, and sizes of volumes.
func (m *manifests) lift(content map[string]any, entry string) {
	spec, _ := content["spec"].(map[string]any)
	if replicas, ok := spec["replicas"].(int64); ok {
		spec["replicas"] = m.field(entry, "replicas", replicas, map[string]any{
			"description": "The number of Pods.", "type": "integer", "format": "int32", "minimum": int64(0), "default": replicas,
		})
	}
	for _, at := range [][]string{{"template", "spec"}, {"jobTemplate", "spec", "template", "spec"}, {}} {
		m.images(inside(spec, at), entry)
	}
	rules, _ := spec["rules"].([]any)
	for i, item := range rules {
		if rule, _ := item.(map[string]any); content["kind"] == "Ingress" && i == 0 {
			host, _ := rule["host"].(string)
			m.text1(rule, "host", entry, "host", "The host name to serve.")
			certified(spec, host, rule["host"])
		}
	}
	if content["kind"] == "Ingress" {
		m.shared(spec)
	}
	if content["kind"] == "PersistentVolumeClaim" {
		m.text1(inside(spec, []string{"resources", "requests"}), "storage", entry, "size", "The size of the volume.")
	}
	for claim := range mappings(spec, "volumeClaimTemplates") {
		m.text1(inside(claim, []string{"spec", "resources", "requests"}), "storage", entry, "size", "The size of the volume.")
	}
}

// certified makes the certificates of an Ingress use the lifted host.
func certified(spec map[string]any, host string, now any) {
	for tls := range mappings(spec, "tls") {
		hosts, _ := tls["hosts"].([]any)
		for i := range hosts {
			if hosts[i] == host {
				hosts[i] = now
			}
		}
	}
}

// shared adds a note for certificate Secrets that are not among the objects: the Ingresses of all parents would share them.
func (m *manifests) shared(ingress map[string]any) {
	for tls := range mappings(ingress, "tls") {
		if secret, _ := tls["secretName"].(string); secret != "" && !tokens.MatchString(secret) {
			m.notes = append(m.notes, Note{m.file, m.line, "spec.tls[].secretName holds " + secret + " and is unchanged, so all parents share this Secret: to give each its own, use the parent's name there"})
		}
	}
}

// images lifts the images of the containers of a Pod.
func (m *manifests) images(pod map[string]any, entry string) {
	containers, _ := pod["containers"].([]any)
	for _, item := range containers {
		container, _ := item.(map[string]any)
		name, _ := container["name"].(string)
		field := "image"
		if len(containers) > 1 {
			field = EntryName(name) + "Image"
		}
		m.text1(container, "image", entry, field, "The container image to run.")
	}
}

// text1 lifts a string.
func (m *manifests) text1(in map[string]any, key, entry, field, description string) {
	if value, ok := in[key].(string); ok && !tokens.MatchString(value) {
		in[key] = m.field(entry, field, value, map[string]any{"description": description, "type": "string", "minLength": int64(1), "default": value})
	}
}

// field adds a field of the parent and returns the action that prints it. If the name is used with another value, the name of the
// child template is added.
func (m *manifests) field(entry, name string, value any, schema map[string]any) string {
	taken := func(name string) bool { old, found := m.example[name]; return found && old != value }
	if taken(name) {
		name = entry + strings.ToUpper(name[:1]) + name[1:]
	}
	for i, base := 2, name; taken(name); i++ {
		name = base + strconv.Itoa(i)
	}
	m.fields[name], m.example[name] = schema, value
	return m.token(m.action(".spec." + name))
}

func inside(of map[string]any, path []string) map[string]any {
	inner, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	out, _ := inner.(map[string]any)
	return out
}
