package chart

import (
	"errors"
	"fmt"
)

// container is the path of the container in the Deployment.
var container = []any{"spec", "template", "spec", "containers", 0}

// named is an object name with the class appended, as in templater-webhook-CLASS.
func named(name string) expression {
	return expression{inline: name + `{{ include "templater.suffix" . }}`}
}

var namespace = quoted(".Release.Namespace")

// replacement replaces the value at a path of an object by an expression.
type replacement struct {
	path []any
	by   expression
}

func path(steps ...any) []any { return steps }

func inContainer(steps ...any) []any { return append(append([]any{}, container...), steps...) }

// replacements are the replacements per kind, in addition to name, namespace and labels.
var replacements = map[string][]replacement{
	"RoleBinding":        binding,
	"ClusterRoleBinding": binding,
	"ValidatingWebhookConfiguration": {
		{path("webhooks", 0, "clientConfig", "service", "name"), named("templater-webhook")},
		{path("webhooks", 0, "clientConfig", "service", "namespace"), namespace},
	},
	"ValidatingAdmissionPolicy": {{path("spec", "variables", 0, "expression"), quoted(`include "templater.classServiceAccounts" .`)}},
	"Deployment": {
		{path("spec", "replicas"), plain(".Values.replicas")},
		{path("spec", "template", "spec", "serviceAccountName"), named("templater")},
		{inContainer("image"), quoted(`include "templater.image" .`)},
		{inContainer("imagePullPolicy"), plain(".Values.image.pullPolicy")},
		{inContainer("resources"), optional(".Values.resources")},
	},
}

var binding = []replacement{
	{path("subjects", 0, "name"), named("templater")},
	{path("subjects", 0, "namespace"), namespace},
}

// replace replaces everything that values determine by expressions.
func (e *expressions) replace(o map[string]any) error {
	metadata, _ := o["metadata"].(map[string]any)
	name := fmt.Sprint(metadata["name"])
	metadata["name"] = e.add(named(name))
	if metadata["namespace"] != nil {
		metadata["namespace"] = e.add(namespace)
	}
	if err := set(o, e.add(named("templater")), "metadata", "labels", "app.kubernetes.io/part-of"); err != nil {
		return err
	}
	kind := fmt.Sprint(o["kind"])
	for _, r := range replacements[kind] {
		if err := set(o, e.add(r.by), r.path...); err != nil {
			return err
		}
	}
	switch kind {
	case "RoleBinding", "ClusterRoleBinding": // of the role of the same name
		return set(o, e.add(named(name)), "roleRef", "name")
	case "Role", "ClusterRole":
		return e.replaceNames(o)
	case "Deployment":
		return e.replaceLists(o)
	}
	return nil
}

// replaceNames appends the class to the resource names in a role.
func (e *expressions) replaceNames(o map[string]any) error {
	rules, _ := o["rules"].([]any)
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		names, _ := rule["resourceNames"].([]any)
		for i, name := range names {
			switch name {
			case "templater":
				names[i] = e.add(named("templater"))
			case "templater-webhook": // of the Secret that templater creates
				names[i] = e.add(expression{inline: `templater{{ include "templater.suffix" . }}-webhook`})
			case "templater-seal": // shared by all classes: see seals-role.yaml
				names[i] = e.add(lines(ownSeals))
			default:
				return fmt.Errorf("the chart does not know whether the class belongs into the name %v", name)
			}
		}
	}
	return nil
}

// ownSeals is a condition: the Secret with the seal keys is in the namespace of the release.
const ownSeals = `{{- if or (not .Values.className) (eq .Release.Namespace .Values.sealNamespace) }}
%[1]s- templater-seal
{{- end }}`

// moreArgs are the flags set by values.
const moreArgs = `{{- with .Values.className }}
%[1]s- --class-name={{ . }}
%[1]s- --seal-namespace={{ $.Values.sealNamespace }}
{{- end }}
{{- if .Values.requireServiceAccount }}
%[1]s- --require-service-account
{{- end }}
{{- range .Values.extraArgs }}
%[1]s- {{ . | quote }}
{{- end }}`

const goMemLimit = `{{- with include "templater.goMemLimit" . }}
%[1]s- name: GOMEMLIMIT
%[1]s  value: {{ . }}
{{- end }}`

// replaceLists lets values extend the lists of a Deployment, and set fields that it omits.
func (e *expressions) replaceLists(o map[string]any) error {
	args, err := at(o, inContainer("args")...)
	if err != nil {
		return err
	}
	list, _ := (*args).([]any)
	if err := set(o, append(list, e.add(lines(moreArgs))), inContainer("args")...); err != nil {
		return err
	}
	env, err := at(o, inContainer("env")...)
	if err != nil {
		return err
	}
	found := false
	list, _ = (*env).([]any)
	for i, one := range list {
		if variable, _ := one.(map[string]any); variable["name"] == "GOMEMLIMIT" {
			list[i], found = e.add(lines(goMemLimit)), true
		}
	}
	if !found {
		return errors.New("the container has no variable GOMEMLIMIT any more")
	}
	pod, err := at(o, "spec", "template", "spec")
	if err != nil {
		return err
	}
	for _, key := range []string{"imagePullSecrets", "nodeSelector", "tolerations", "priorityClassName"} {
		fields, _ := (*pod).(map[string]any)
		if fields[key] != nil {
			return fmt.Errorf("%s is set there: the chart would overwrite it", key)
		}
		fields[key] = e.add(optional(".Values." + key))
	}
	return nil
}
