package typed

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/finding"
)

// TestOptionalFields has templates that fail for some objects (TL039), and templates that never do.
func TestOptionalFields(t *testing.T) {
	const child = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: "
	for name, row := range map[string]struct {
		given
		want string // the optional fields, in order
	}{
		"a test in another template":               {given{status: `{{ if .spec.port }}phase: a{{ end }}`, child: child + `{{ .spec.port | quote }}`}, ".spec.port"},
		"a test in a helper":                       {given{helpers: `{{ define "check" }}{{ if not .spec.port }}{{ fail "no port" }}{{ end }}{{ end }}`, child: child + `{{ include "check" . }}{{ .spec.port | quote }}`}, ""},
		"wrong polarity":                           {given{status: `phase: {{ if not .spec.port }}{{ .spec.port }}{{ end }}`}, ".spec.port"},
		"wrong polarity of empty":                  {given{status: `phase: {{ if empty .spec.nodeSelector }}{{ .spec.nodeSelector.a }}{{ end }}`}, ".spec.nodeSelector.a"},
		"wrong polarity of hasKey":                 {given{status: `phase: {{ if not (hasKey .spec "port") }}{{ .spec.port }}{{ end }}`}, ".spec.port"},
		"an else":                                  {given{status: `phase: {{ if .spec.port }}a{{ else }}{{ .spec.port }}{{ end }}`}, ".spec.port"},
		"the else of a with":                       {given{status: `phase: {{ with .spec.tls }}a{{ else }}{{ .spec.tls.secretName }}{{ end }}`}, ".spec.tls"},
		"the else of an or":                        {given{status: `phase: {{ if or .spec.port .spec.paused }}a{{ else }}{{ .spec.port }}{{ end }}`}, ".spec.port"},
		"the else of an and":                       {given{status: `phase: {{ if and .spec.port .spec.paused }}a{{ else if .spec.port }}{{ .spec.port }}{{ end }}`}, ""},
		"a second test in an else":                 {given{status: `phase: {{ if .spec.tls.enabled }}a{{ else if .spec.tls }}{{ .spec.tls.secretName }}{{ end }}`}, ""},
		"the right polarity":                       {given{status: `phase: {{ if not .spec.port }}a{{ else }}{{ .spec.port }}{{ end }}`}, ""},
		"the right polarity of an or":              {given{status: `phase: {{ if or (not .spec.port) (empty .spec.nodeSelector) }}a{{ else }}{{ .spec.port }}{{ .spec.nodeSelector.a | default "b" }}{{ end }}`}, ""},
		"a test before":                            {given{status: `{{ if not .spec.port }}{{ fail "no port" }}{{ end }}phase: {{ if .spec.port }}a{{ else }}{{ .spec.port }}{{ end }}`}, ""},
		"a test around":                            {given{status: `phase: {{ if hasKey .spec "paused" }}{{ if .spec.paused }}a{{ else }}{{ .spec.paused }}{{ end }}{{ end }}`}, ""},
		"in a condition":                           {given{status: `phase: {{ if gt .spec.port 3 }}a{{ end }}`}, ".spec.port"},
		"in a condition with another":              {given{status: `phase: {{ if and .spec.port (gt .spec.port 3) }}a{{ end }}`}, ""},
		"in a condition after or":                  {given{status: `phase: {{ if or (not .spec.port) (gt .spec.port 3) }}a{{ end }}`}, ""},
		"eq":                                       {given{status: `phase: {{ if eq .spec.port 3 }}{{ .spec.port }}{{ end }}`}, ""},
		"ne":                                       {given{status: `phase: {{ if ne .spec.port 3 }}a{{ else }}{{ .spec.port }}{{ end }}`}, ""},
		"a variable":                               {given{status: `{{ $port := .spec.port }}phase: {{ if $port }}{{ $port }}{{ end }}`}, ""},
		"a variable, wrong polarity":               {given{status: `{{ $port := .spec.port }}phase: {{ if not $port }}{{ $port }}{{ end }}`}, ".spec.port"},
		"a variable with a default":                {given{status: `{{ $port := .spec.port }}{{ if not $port }}{{ $port = 80 }}{{ end }}phase: {{ $port }}`}, ""},
		"a variable that is tested":                {given{status: `{{ $both := and .spec.port .spec.tls }}phase: {{ if $both }}{{ .spec.port }}{{ .spec.tls.secretName }}{{ end }}`}, ""},
		"compact":                                  {given{status: `phase: {{ range compact (list .spec.port .spec.image) }}{{ . }}{{ end }}`}, ""},
		"the keys of a map":                        {given{status: `phase: {{ range keys (.spec.nodeSelector | default dict) }}{{ get $.spec.nodeSelector . }}{{ end }}`}, ""},
		"a label that the template writes":         {given{child: "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: b}}", status: `phase: {{ range .observed.pod }}{{ .metadata.labels.app }}{{ end }}`}, ""},
		"a label that the template sometimes has":  {given{child: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    a: b\n    {{- if .spec.paused }}\n    app: b\n    {{- end }}\n  annotations: {b: \"{{ range .observed.pod }}{{ .metadata.labels.app }}{{ end }}\"}"}, ".metadata.labels.app"},
		"a label that one of two objects is given": {given{child: "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: b}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: c, labels: {b: \"{{ range .observed.pod }}{{ .metadata.labels.app }}{{ end }}\"}}"}, ".metadata.labels.app"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range checked(t, row.given, known(t)) {
				if f.Code == finding.Optional {
					field, _, _ := strings.Cut(f.Message, " is optional")
					got = append(got, field)
				}
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
