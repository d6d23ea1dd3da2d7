// Package schema has the JSON schema of TemplateControllers and NamespacedTemplateControllers, which is made of their CustomResourceDefinitions.
package schema

import (
	_ "embed" // of the schema
	"encoding/json"
	"sync"
)

// templateController is the schema of a TemplateController without its status, in version v1 of the API.
//
//go:embed templatecontroller_v1.json
var templateController []byte

// Node is a part of the schema, in the words that it has. A nil bound is none.
type Node struct {
	Description string           `json:"description"`
	Type        any              `json:"type"` // a word, or several
	Properties  map[string]*Node `json:"properties"`
	Required    []string         `json:"required"`
	Items       *Node            `json:"items"`
	Enum        []string         `json:"enum"`
	Pattern     string           `json:"pattern"`
	MinLength   *int             `json:"minLength"` // characters
	MaxLength   *int             `json:"maxLength"`
	MaxItems    *int             `json:"maxItems"`
	Minimum     *int64           `json:"minimum"`
	Maximum     *int64           `json:"maximum"`
	Rules       []Rule           `json:"x-kubernetes-validations"`
	// NamespacedRules are Rules in a NamespacedTemplateController. Only the root has any.
	NamespacedRules []Rule `json:"x-namespaced-validations"`
}

// Rule is a rule in CEL that takes more than the bounds of a field.
type Rule struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Path    string `json:"fieldPath"` // what it is about, such as ".logs"; "" is the whole
}

// TemplateController returns the schema of a TemplateController without its status, in version v1 of the API. Do not change it.
var TemplateController = sync.OnceValue(func() *Node {
	root := &Node{}
	if err := json.Unmarshal(templateController, root); err != nil {
		panic("the schema of TemplateControllers: " + err.Error()) // which is part of the program
	}
	return root
})
