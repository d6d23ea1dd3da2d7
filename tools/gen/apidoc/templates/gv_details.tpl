{{- define "gvDetails" }}{{ $gv := . }}
`{{ .GroupVersionString }}`, kind `TemplateController`, short name `tc`, cluster-scoped.
{{ range tuple "TemplateController" "TemplateControllerSpec" "TemplateControllerStatus" }}{{ template "type" (index $gv.Types .) }}{{ end }}
{{- range .SortedTypes }}{{ if not (hasPrefix "TemplateController" .Name) }}{{ template "type" . }}{{ end }}{{ end }}
{{- end -}}
