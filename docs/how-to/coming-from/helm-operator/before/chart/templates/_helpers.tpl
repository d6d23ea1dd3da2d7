{{- define "guestbook.labels" -}}
app: guestbook
instance: {{ .Release.Name | quote }}
{{- end }}
