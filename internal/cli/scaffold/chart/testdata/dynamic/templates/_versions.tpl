{{- define "dynamic.workload.apiVersion" -}}
{{- print "apps/v1" -}}
{{- end -}}

{{- define "dynamic.budget.apiVersion" -}}
{{- if .Capabilities.APIVersions.Has "policy/v1" }}
{{- print "policy/v1" }}
{{- else }}
{{- print "policy/v1beta1" -}}
{{- end }}
{{- end -}}
