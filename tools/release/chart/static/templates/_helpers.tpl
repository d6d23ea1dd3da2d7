{{/* The suffix of names in an installation with a class name. */}}
{{- define "templater.suffix" -}}
{{- with .Values.className }}-{{ . }}{{ end }}
{{- end }}

{{- define "templater.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .tag }}:{{ .tag }}{{ else }}@{{ .digest }}{{ end }}{{ end }}
{{- end }}

{{/* Nine tenths of the limit on memory, for the garbage collector of Go. Empty without a limit. */}}
{{- define "templater.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | default "" }}
{{- if hasSuffix "Gi" $limit }}{{ div (mul (trimSuffix "Gi" $limit | int) 1024 9) 10 }}MiB
{{- else if hasSuffix "Mi" $limit }}{{ div (mul (trimSuffix "Mi" $limit | int) 9) 10 }}MiB
{{- end }}
{{- end }}

{{/* The service account of each class, as a CEL map for the admission policy. */}}
{{- define "templater.classServiceAccounts" -}}
{'': '{{ .Release.Namespace }}/templater'
{{- range $class, $account := .Values.accounts }}, '{{ $class }}': '{{ $account }}'{{ end }}}
{{- end }}
