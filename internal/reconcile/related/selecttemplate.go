package related

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits for the output of a select template for one parent, which is kept while the parent exists.
const (
	maxMappings   = 256
	maxNameLength = 253 // of an object or a namespace
	maxLabels     = 64  // keys and values of a labelSelector together
)

// Scope is the namespace of a parent and the scope of the selected kind.
type Scope struct {
	Namespace  string // of the parent; "" if it is cluster-scoped
	Namespaced bool   // the selected kind is namespaced
}

// CompileSelection converts the output of a select template to a Selection. fault is an error message, which contains
// no values, or "".
func CompileSelection(yielded []map[string]any, of Scope) (s Selection, fault string) {
	if len(yielded) > maxMappings {
		return nil, fmt.Sprintf("the output has %d mappings; the limit is %d: select by namespace or by label", len(yielded), maxMappings)
	}
	s = make(Selection, 0, len(yielded))
	for i, m := range yielded {
		p, fault := of.read(m)
		if fault != "" {
			if len(yielded) > 1 {
				fault = fmt.Sprintf("mapping %d: %s", i+1, fault)
			}
			return nil, fault
		}
		s = append(s, p)
	}
	return s, ""
}

const keysOfAMapping = "name, namespace, allNamespaces and labelSelector"

// read converts one mapping to a part.
func (of Scope) read(m map[string]any) (p Part, fault string) {
	if len(m) == 0 {
		return p, "it is empty: set at least one of " + keysOfAMapping
	}
	everywhere := false
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch key {
		case "name":
			p.Name, fault = nameIn(m, key)
		case "namespace":
			p.Namespace, fault = nameIn(m, key)
		case "allNamespaces":
			var isBool bool
			if everywhere, isBool = m[key].(bool); !isBool {
				fault = "allNamespaces must be true or false"
			}
		case "labelSelector":
			fault = p.readLabels(m[key])
		default:
			fault = "it has an unknown key; valid keys are " + keysOfAMapping
		}
		if fault != "" {
			return p, fault
		}
	}
	return p, of.place(&p, everywhere)
}

// place sets the namespace in which the part selects.
func (of Scope) place(p *Part, everywhere bool) (fault string) {
	switch {
	case p.Namespace != "" && everywhere:
		return "it has both namespace and allNamespaces: true: remove one of them"
	case p.Namespace != "" && !of.Namespaced:
		return "the kind is cluster-scoped: remove namespace"
	case p.Namespace != "" || everywhere || !of.Namespaced:
	case of.Namespace == "":
		return "the parent has no namespace: set namespace, or allNamespaces: true"
	default:
		p.Namespace = of.Namespace
	}
	return ""
}

// nameIn returns a name. It is cloned, so that it does not keep the rendered output in memory.
func nameIn(m map[string]any, key string) (name, fault string) {
	name, isText := m[key].(string)
	switch {
	case !isText:
		return "", key + " is not a string: quote it, or remove the key"
	case name == "":
		return "", key + " is empty, which does not mean all: remove the key, or render no mapping"
	case len(name) > maxNameLength:
		return "", fmt.Sprintf("%s is longer than %d characters, the limit for a name", key, maxNameLength)
	}
	return strings.Clone(name), ""
}

const badSelector = "labelSelector is not valid: use matchLabels or matchExpressions with valid label keys and values; operators are In, NotIn, Exists and DoesNotExist, the last two without values"

func (p *Part) readLabels(v any) (fault string) {
	m, isMap := v.(map[string]any)
	if !isMap {
		return "labelSelector is not a mapping"
	}
	text, err := json.Marshal(m)
	if err != nil {
		return badSelector
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var selector metav1.LabelSelector // its strings are copies
	if decoder.Decode(&selector) != nil {
		return badSelector
	}
	size := len(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		size += 1 + len(e.Values)
	}
	if size > maxLabels {
		return fmt.Sprintf("labelSelector has more than %d keys and values", maxLabels)
	}
	of, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return badSelector
	}
	p.labels = compact(of)
	return ""
}
