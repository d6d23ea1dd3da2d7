{{- define "common.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .context.Release.Name }}-{{ .component }}
  labels: {{- include "common.labels" . | nindent 4 }}
spec:
  selector: {{- include "common.labels" . | nindent 4 }}
  ports:
  - {name: http, port: {{ .port }}}
{{- end -}}

{{- define "common.merge" -}}
{{- $all := dict }}
{{- range .list }}
{{- $_ := set $all .name .value }}
{{- end }}
{{- toYaml $all }}
{{- end -}}
