{{- define "gvList" -}}
<!-- Written by make generate from the comments in api/v1. Edit those. -->

# API reference

For authors: every field of a TemplateController, its default and its limits. `kubectl explain templatecontroller.spec --recursive` lists the same fields.
{{ range . }}{{ template "gvDetails" . }}{{ end }}
{{- end -}}
