{{- define "type" }}{{ if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}
{{ range .Validation }}{{ if hasPrefix "Enum" . }}
One of {{ . | trimPrefix "Enum: [" | trimSuffix "]" | splitList " " | join ", " }}.
{{ end }}{{ end }}{{ if .Members }}
| Field | Type | Description |
|---|---|---|
{{ range .Members }}| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "type_members" . }} |
{{ end }}{{ end }}{{ end }}{{ end -}}
