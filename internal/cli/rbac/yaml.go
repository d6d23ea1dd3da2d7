package rbac

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/lint/report"
)

// YAML returns manifests that grant all permissions, with a comment for each rule. An object that
// several TemplateControllers need occurs once.
func YAML(all []*Permissions) (string, error) {
	var out strings.Builder
	seen := map[string]bool{}
	for _, r := range all {
		for _, note := range r.Notes {
			fmt.Fprintf(&out, "# %s: %s.\n", r.Controller, note)
		}
	}
	for _, r := range all {
		for _, object := range r.Objects() {
			text, err := r.manifest(object)
			if err != nil {
				return "", err
			}
			if seen[text] {
				continue
			}
			if len(seen) > 0 {
				out.WriteString("---\n")
			}
			seen[text] = true
			out.WriteString(text)
		}
	}
	return out.String(), nil
}

// List returns all objects as one List in JSON.
func List(all []*Permissions) ([]byte, error) {
	var items []any
	seen := map[string]bool{}
	for _, r := range all {
		for _, object := range r.Objects() {
			text, err := json.Marshal(object)
			if err != nil {
				return nil, err
			}
			if !seen[string(text)] {
				seen[string(text)] = true
				items = append(items, object)
			}
		}
	}
	var out bytes.Buffer
	err := report.WriteJSON(&out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	return out.Bytes(), err
}

// manifest returns the YAML of an object, with each rule of a role on one line with a comment.
func (p *Permissions) manifest(object any) (string, error) {
	rules, namespace, bare := rulesIn(object)
	text, err := yaml.Marshal(bare)
	if err != nil || len(rules) == 0 {
		return string(text), err
	}
	var out strings.Builder
	out.WriteString(strings.Replace(string(text), "rules: null\n", "", 1))
	out.WriteString("rules:\n")
	for _, rule := range rules {
		fmt.Fprintf(&out, "- apiGroups: [%s]%s\n", words(rule.APIGroups), p.comment(namespace, rule))
		fmt.Fprintf(&out, "  resources: [%s]\n", words(rule.Resources))
		if len(rule.ResourceNames) > 0 {
			fmt.Fprintf(&out, "  resourceNames: [%s]\n", words(rule.ResourceNames))
		}
		fmt.Fprintf(&out, "  verbs: [%s]\n", words(rule.Verbs))
	}
	return out.String(), nil
}

// rulesIn returns the rules of a role, its namespace, and the role without rules.
func rulesIn(object any) (rules []rbacv1.PolicyRule, namespace string, bare any) {
	switch o := object.(type) {
	case *rbacv1.Role:
		without := *o
		without.Rules = nil
		return o.Rules, o.Namespace, &without
	case *rbacv1.ClusterRole:
		without := *o
		without.Rules = nil
		return o.Rules, "", &without
	}
	return nil, "", object
}

// comment returns the purpose of a rule as a comment.
func (p *Permissions) comment(namespace string, rule rbacv1.PolicyRule) string {
	for _, one := range p.Grants {
		if one.Group == rule.APIGroups[0] && one.Resource == rule.Resources[0] && one.Name == strings.Join(rule.ResourceNames, "") && (one.Namespace == namespace || p.Account == nil) {
			return " # " + strings.Join(one.For, ", ")
		}
	}
	return ""
}

// words returns the items of a flow sequence, quoted if necessary.
func words(all []string) string {
	out := make([]string, len(all))
	for i, word := range all {
		text, _ := yaml.Marshal(word) // strings cannot fail
		out[i] = strings.TrimSpace(string(text))
	}
	return strings.Join(out, ", ")
}
