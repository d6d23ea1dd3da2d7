package typed

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/finding"
)

// TestTypeGuardsSuppressErrors has helpers that render with all that they are called with, as they look at it first.
func TestTypeGuardsSuppressErrors(t *testing.T) {
	const text = `{{ define "v" }}{{ if kindIs "string" . }}{{ upper . }}{{ else }}{{ toJson . | quote }}{{ end }}{{ end }}`
	for why, row := range map[string]struct {
		given
		worst finding.Severity
	}{
		"kindIs":                            {given{helpers: text, status: `phase: {{ include "v" "x" }}{{ include "v" (dict "a" 1) }}`}, ""},
		"kindOf":                            {given{helpers: strings.Replace(text, `kindIs "string" .`, `eq (kindOf .) "string"`, 1), status: `phase: {{ include "v" "x" }}{{ include "v" (dict "a" 1) }}{{ include "v" .spec.port }}`}, finding.Warning},
		"typeIs":                            {given{helpers: strings.Replace(text, `kindIs`, `typeIs`, 1), status: `phase: {{ include "v" "x" }}{{ include "v" (list 1) }}`}, ""},
		"typeIsLike":                        {given{helpers: strings.Replace(text, `kindIs`, `typeIsLike`, 1), status: `phase: {{ include "v" "x" }}{{ include "v" (list 1) }}`}, ""},
		"typeOf":                            {given{helpers: strings.Replace(text, `kindIs "string" .`, `eq (typeOf .) "string"`, 1), status: `phase: {{ include "v" "x" }}{{ include "v" (list 1) }}`}, ""},
		"a number":                          {given{helpers: `{{ define "v" }}{{ if or (kindIs "int64" .) (kindIs "float64" .) }}{{ add1f . }}{{ else }}{{ .a }}{{ end }}{{ end }}`, status: `phase: {{ include "v" 1 }}{{ include "v" 1.5 }}{{ include "v" (dict "a" 1) }}{{ include "v" .spec.replicas }}`}, finding.Warning},
		"a field":                           {given{status: `phase: {{ if kindIs "map" .spec.image }}{{ .spec.image.foo }}{{ else }}{{ .spec.image }}{{ end }}`}, ""},
		"a value":                           {given{values: `{"image": "a"}`, status: `phase: {{ if kindIs "map" .values.image }}{{ .values.image.foo }}{{ else }}{{ .values.image }}{{ end }}`}, ""},
		"has":                               {given{helpers: `{{ define "v" }}{{ if has .type (list "http" "grpc") }}{{ .cfg.path }}{{ else }}{{ .cfg }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "type" "tcp" "cfg" "plain") }}{{ include "v" (dict "type" "http" "cfg" (dict "path" "/")) }}`}, ""},
		"hasPrefix":                         {given{helpers: `{{ define "v" }}{{ if hasPrefix "http" .type }}{{ .cfg.path }}{{ else }}{{ .cfg }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "type" "tcp" "cfg" "plain") }}{{ include "v" (dict "type" "https" "cfg" (dict "path" "/")) }}`}, ""},
		"hasSuffix":                         {given{helpers: `{{ define "v" }}{{ if .type | hasSuffix "s" }}{{ .cfg.path }}{{ else }}{{ .cfg }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "type" "tcp" "cfg" "plain") }}{{ include "v" (dict "type" "https" "cfg" (dict "path" "/")) }}`}, ""},
		"contains":                          {given{helpers: `{{ define "v" }}{{ if not (contains "tt" .type) }}{{ upper .cfg }}{{ else }}{{ .cfg.path }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "type" "tcp" "cfg" "plain") }}{{ include "v" (dict "type" "https" "cfg" (dict "path" "/")) }}`}, ""},
		"gt":                                {given{helpers: `{{ define "v" }}{{ if gt .n 1 }}{{ upper .x }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "n" 0) }}{{ include "v" (dict "n" 1.0 "x" (list)) }}{{ include "v" (dict "n" 2 "x" "a") }}`}, ""},
		"len":                               {given{helpers: `{{ define "v" }}{{ if gt (len (.xs | default list)) 0 }}{{ index .xs 0 }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "n" 0) }}{{ include "v" (dict "xs" (list "a")) }}`}, ""},
		"empty":                             {given{helpers: `{{ define "v" }}{{ if empty .x }}a{{ else }}{{ upper .x }}{{ end }}{{ end }}`, status: `phase: {{ include "v" (dict "n" 0) }}{{ include "v" (dict "x" "") }}{{ include "v" (dict "x" "a") }}`}, ""},
		"numbers are alike":                 {given{status: `phase: {{ if ne 1 1.0 }}{{ upper (dict) }}{{ else }}a{{ end }}`}, ""},
		"a loop over what never grows":      {given{status: `{{ $l := list }}{{ range .spec.countt }}{{ $l = append $l . }}{{ end }}phase: {{ range $l }}{{ $.spec.imag }}{{ end }}`}, finding.Warning},
		"possibly another kind":             {given{status: `phase: {{ if ternary "a" (list) .spec.paused }}a{{ else }}{{ .spec.imag }}{{ end }}`}, finding.Warning},
		"the length of one of two kinds":    {given{status: `phase: {{ if eq (len (ternary "ab" (list) .spec.paused)) 2 }}a{{ else }}{{ .spec.imag }}{{ end }}`}, finding.Warning},
		"condition that depends on objects": {given{status: `phase: {{ if eq .spec.image "a" }}{{ upper (dict) }}{{ else }}{{ .spec.imag }}{{ end }}`}, finding.Warning},
		"with":                              {given{status: `phase: {{ with .spec.template }}{{ upper (dict) }}{{ end }}`}, finding.Warning},
		"the else of a range":               {given{status: `phase: {{ range .spec.hosts }}{{ . }}{{ else }}{{ upper (dict) }}{{ end }}`}, finding.Warning},
		"and":                               {given{status: `phase: {{ and (eq .spec.image "a") (upper (dict)) }}`}, finding.Warning},
		"a helper that is called so":        {given{helpers: `{{ define "v" }}{{ upper . }}{{ end }}`, status: `phase: {{ if eq .spec.image "a" }}{{ include "v" (dict) }}{{ end }}`}, finding.Warning},
		"the rest of a round":               {given{status: `phase: {{ range list "a" "b" }}{{ if eq . $.spec.image }}{{ continue }}{{ end }}{{ .foo }}{{ end }}`}, finding.Warning},
		"a helper that is called always":    {given{helpers: `{{ define "v" }}{{ upper . }}{{ end }}`, status: `phase: {{ if eq .spec.image "a" }}{{ include "v" (dict) }}{{ end }}{{ include "v" (dict) }}`}, finding.Error},
		"condition that is always true":     {given{status: `phase: {{ if kindIs "string" .spec.image }}{{ .spec.image.a }}{{ end }}`}, finding.Error},
		"a range":                           {given{status: `phase: {{ range .spec.hosts }}{{ .a }}{{ end }}`}, finding.Error},
		"after a condition":                 {given{status: `phase: {{ if .spec.paused }}a{{ end }}{{ .spec.imag }}`}, finding.Error},
	} {
		var worst finding.Severity
		all := checked(t, row.given, known(t))
		for _, f := range all {
			if f.Severity == finding.Error || worst == "" {
				worst = f.Severity
			}
		}
		if worst != row.worst {
			t.Errorf("%s: %q, but want %q: %v", why, worst, row.worst, all)
		}
	}
}
