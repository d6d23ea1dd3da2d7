package chart

import (
	"errors"
	"fmt"
)

// container is where the Deployment has the container.
var container = []any{"spec", "template", "spec", "containers", 0}

// named is a name of ours, with the class behind it. Names of one thing end with the class: templater-webhook-CLASS.
func named(name string) expression {
	return expression{inline: name + `{{ include "templater.suffix" . }}`}
}

var namespace = quoted(".Release.Namespace")

// replacement puts an expression at a path of an object.
type replacement struct {
	path []any
	by   expression
}

func path(steps ...any) []any { return steps }

func inContainer(steps ...any) []any { return append(append([]any{}, container...), steps...) }

// replacements are those of one kind, besides name, namespace and label.
var replacements = map[string][]replacement{
	"RoleBinding":        binding,
	"ClusterRoleBinding": binding,
	"ValidatingWebhookConfiguration": {
		{path("webhooks", 0, "clientConfig", "service", "name"), named("templater-webhook")},
		{path("webhooks", 0, "clientConfig", "service", "namespace"), namespace},
	},
	"ValidatingAdmissionPolicy": {{path("spec", "variables", 0, "expression"), quoted(`include "templater.homes" .`)}},
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

// replace puts expressions in place of what values decide.
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
	case "RoleBinding", "ClusterRoleBinding": // of the role with the same name
		return set(o, e.add(named(name)), "roleRef", "name")
	case "Role", "ClusterRole":
		return e.replaceNames(o)
	case "Deployment":
		return e.replaceLists(o)
	}
	return nil
}

// replaceNames puts the class into the names of objects that a role is about.
func (e *expressions) replaceNames(o map[string]any) error {
	rules, _ := o["rules"].([]any)
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		names, _ := rule["resourceNames"].([]any)
		for i, name := range names {
			switch name {
			case "templater":
				names[i] = e.add(named("templater"))
			case "templater-webhook": // of the Secret, which templater makes
				names[i] = e.add(expression{inline: `templater{{ include "templater.suffix" . }}-webhook`})
			case "templater-seal": // one for all classes: see seals-role.yaml
				names[i] = e.add(lines(ownSeals))
			default:
				return fmt.Errorf("the chart does not know whether the class belongs into the name %v", name)
			}
		}
	}
	return nil
}

// ownSeals is the Secret with the keys of the seals, where it is in the namespace of the release.
const ownSeals = `{{- if or (not .Values.className) (eq .Release.Namespace .Values.sealNamespace) }}
%[1]s- templater-seal
{{- end }}`

// moreArgs are the flags that values add.
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

// replaceLists has values add to the lists of a Deployment, and to what it leaves out.
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
