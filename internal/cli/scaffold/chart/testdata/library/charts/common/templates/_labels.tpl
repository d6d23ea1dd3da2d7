{{/* Usage: include "common.labels" (dict "component" "web" "context" $) */}}
{{- define "common.labels" -}}
app.kubernetes.io/name: {{ .context.Chart.Name }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .context.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "common.image" -}}
{{- printf "%s/%s:%s" .image.registry .image.name (.image.tag | toString) -}}
{{- end -}}
