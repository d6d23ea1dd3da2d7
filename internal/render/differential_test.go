package render

import (
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestExecutionMatchesTextTemplate executes templates here and with text/template. Their
// output must agree: the control structures, variables, pipelines and the
// functions that both have are the same language.
func TestExecutionMatchesTextTemplate(t *testing.T) {
	data := map[string]any{
		"spec": map[string]any{
			"s": "text", "empty": "", "n": int64(3), "zero": int64(0), "f": 1.5, "yes": true, "no": false,
			"list": []any{"a", "b", "c"}, "none": []any{}, "lists": []any{[]any{"x", "y"}, []any{"z"}},
			"map": map[string]any{"k": "v", "b": "w", "a": map[string]any{"deep": "d"}},
		},
	}
	for _, text := range []string{
		`{{ .spec.s }} {{ $.spec.s }} {{ .spec.n }} {{ .spec.f }} {{ .spec.yes }}`,
		`{{ .spec.map.a.deep }} {{ (index .spec.map "a").deep }} {{ .spec.map.k | upper | lower }}`,
		`{{ if .spec.yes }}1{{ else }}2{{ end }}{{ if .spec.zero }}1{{ else if .spec.s }}2{{ else }}3{{ end }}`,
		`{{ if .spec.none }}1{{ end }}{{ if .spec.empty }}2{{ end }}{{ if .spec.missing }}3{{ end }}{{ if .spec.map }}4{{ end }}`,
		`{{ with .spec.map }}{{ .k }}{{ $.spec.s }}{{ end }}{{ with .spec.missing }}x{{ else }}y{{ end }}`,
		`{{ with .spec.none }}x{{ else with .spec.list }}{{ index . 1 }}{{ end }}`,
		`{{ with $x := .spec.s }}{{ $x }}{{ . }}{{ end }}`,
		`{{ range .spec.list }}[{{ . }}]{{ end }}{{ range .spec.none }}x{{ else }}none{{ end }}`,
		`{{ range $i, $v := .spec.list }}{{ $i }}={{ $v }};{{ end }}{{ range $k, $v := .spec.map }}{{ $k }} {{ end }}`,
		`{{ range $v := .spec.list }}{{ if eq $v "b" }}{{ continue }}{{ end }}{{ $v }}{{ end }}`,
		`{{ range .spec.list }}{{ if eq . "b" }}{{ break }}{{ end }}{{ . }}{{ end }}`,
		`{{ range $l := .spec.lists }}{{ range $l }}{{ if eq . "y" }}{{ break }}{{ end }}{{ . }}{{ end }}|{{ end }}`,
		`{{ range .spec.n }}{{ . }},{{ end }}{{ range $i := 2 }}{{ $i }}{{ end }}{{ range 0 }}x{{ else }}zero{{ end }}`,
		`{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}{{ if true }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}`,
		`{{ $x := 1 }}{{ range .spec.list }}{{ $x = . }}{{ end }}{{ $x }}`,
		`{{ range $x := .spec.none }}{{ else }}{{ $x }}|{{ len $x }}{{ $x = 1 }}{{ $x }}{{ end }}`,
		`{{ $x := 5 }}{{ range $x := .spec.none }}{{ else }}{{ len $x }}{{ $x = 1 }}{{ end }}{{ $x }}`,
		`{{ $x := 5 }}{{ range $x = .spec.zero }}{{ else }}{{ $x }}{{ end }}{{ $x }}`,
		`{{ range .spec.list }}<{{ range $.spec.none }}{{ else }}a{{ break }}b{{ end }}>{{ end }}`,
		`{{ range .spec.list }}<{{ range $y := $.spec.none }}{{ else }}a{{ continue }}b{{ end }}>{{ else }}c{{ end }}`,
		`{{ $i := 0 }}{{ $v := 0 }}{{ range $i, $v = .spec.list }}{{ end }}{{ $i }}{{ $v }}`,
		`{{ define "t" }}<{{ . }}{{ $ }}>{{ end }}{{ template "t" .spec.s }}{{ block "b" .spec.n }}({{ . }}){{ end }}`,
		`{{ define "t" }}{{ $x := 7 }}{{ $x }}{{ end }}{{ $x := 1 }}{{ template "t" }}{{ $x }}`,
		`a {{- " b " -}} c {{/* comment */ -}}   d`,
		`{{ and 1 0 2 }} {{ or 0 "" "x" }} {{ and 1 2 }} {{ or 0 0 }} {{ not 0 }} {{ 1 | and 2 }} {{ 0 | or 3 }}`,
		`{{ or .spec.s (index .spec.list 9 | len) }} {{ and .spec.zero (len 3) }}`,
		`{{ eq 1 1 }} {{ eq 1 2 3 1 }} {{ ne "a" "b" }} {{ lt 1 2 }} {{ le 2 2 }} {{ gt "b" "a" }} {{ ge 1.5 1.5 }}`,
		`{{ len .spec.list }} {{ len .spec.s }} {{ len .spec.map }} {{ index .spec.lists 0 1 }}`,
		`{{ print "a" 1 2 "b" true false }} {{ printf "%05d|%-4s|%q|%x|%.2f|%t|%v|%%" 42 "ab" "q" 255 1.234 true .spec.f }}`,
		`{{ printf "%5.1f|%-8q|%+d|% d|%#x|%#o|%x|%X|%e|%08.3f|%c|%U|%b|%o|%.2s|%-05d" 1.25 "a" 5 5 255 8 "hi" "hi" 1.5 3.14159 65 65 5 8 "abc" 42 }}`,
		`{{ printf "%.2v|%6.3v|%+v|%08v|%#v|%#v|% x|%10v|%-10v|" 1.234 1.23456 1.5 1.5 "q" 3 "ab" 1.5 1.5 }}`,
		`{{ println "a" 1 }}{{ html "<a&'\">" }}{{ html "<" 1 2 ">" }}{{ js "'" 1 true }}{{ urlquery "a " 1 2 "&" }}{{ html }}{{ 3 | urlquery 1 }} {{ js "'<\n>" }} {{ urlquery "a b&c" }}`,
		`{{ "quoted" }} {{ ` + "`raw`" + ` }} {{ 'a' }} {{ 0x1F }} {{ 1_000 }} {{ 1e3 }} {{ -5 }} {{ +2.5 }} {{ 0x1p-2 }}`,
		`{{ "a" | printf "%s-%s" "b" }} {{ (printf "%d" 3) | len }} {{ .spec.list | len | printf "%03d" }}`,
		`{{ upper "x" }} {{ trunc 2 "abc" }} {{ repeat 3 "ab" }} {{ replace "a" "b" "banana" }} {{ join "-" .spec.list }}`,
		`{{ list 1 2 3 | last }} {{ dict "a" 1 | keys }} {{ ternary 1 2 true }} {{ splitList "," "a,b" | len }}`,
		`{{ range $i, $c := until 3 }}{{ $i }}{{ $c }}{{ end }} {{ seq 1 2 7 }} {{ seq 5 }} {{ seq 3 1 }} {{ untilStep 0 10 3 | len }}`,
		`{{ add 1 2 3 }} {{ sub 5 7 }} {{ mul 3 4 }} {{ div 7 2 }} {{ mod 7 2 }} {{ max 1 5 2 }} {{ min 3 1 2 }} {{ addf 0.1 0.2 }} {{ divf 1 3 }} {{ round 1.2345 2 }}`,
		`{{ sha256sum "x" }} {{ b64enc "x" }} {{ b64dec "eA==" }} {{ adler32sum "x" }} {{ b32enc "abc" }}`,
		`{{ snakecase "FirstName" }} {{ camelcase "http_server" }} {{ kebabcase "FirstName" }} {{ title "a b" }} {{ untitle "A B" }} {{ swapcase "aB" }}`,
		`{{ abbrev 5 "hello world" }} {{ abbrevboth 5 10 "1234 5678 9123" }} {{ abbrevboth 1 10 "1234 5678 9123" }} {{ abbrevboth 12 10 "1234 5678 9123" }} {{ abbrevboth 99 10 "1234 5678 9123" }} {{ abbrevboth 5 7 "1234 5678 9123" }} {{ abbrevboth -3 8 "1234 5678 9123" }} {{ abbrevboth 3 5 "12345678" }} {{ abbrevboth 0 5 "12345678" }} {{ abbrevboth 5 10 "" }} {{ wrap 3 "ab cd efghi j" }} {{ wrap 5 "a b c d e f" }} {{ wrapWith 3 "|" "ab cd efghi j" }} {{ wrapWith 4 "-" "  a  bcdefghijk" }} {{ substr 1 3 "hello" }} {{ initials "First Try" }} {{ nospace " a b " }}`,
		`{{ trimAll "$" "$5$" }} {{ trimSuffix "-" "a-" }} {{ trimPrefix "-" "-a" }} {{ cat "a" "b" }} {{ plural "one" "many" 2 }} {{ contains "a" "cat" }}`,
		`{{ regexMatch "^a+$" "aaa" }} {{ regexFind "[a-z]+" "1ab2" }} {{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }} {{ regexReplaceAllLiteral "a" "aba" "$1" }} {{ regexQuoteMeta "1.2" }}`,
		`{{ base "a/b.c" }} {{ dir "a/b" }} {{ ext "a.b" }} {{ clean "a//b" }} {{ isAbs "/a" }} {{ duration "95" }} {{ durationRound "2h10m5s" }}`,
		`{{ semverCompare "^1.2" "1.3.0" }} {{ (semver "1.2.3-rc.1").Minor }} {{ (urlParse "http://u:p@h:1/p?q#f").hostname }}`,
		`{{ kindOf "x" }} {{ kindOf .spec.list }} {{ typeOf .spec.map }} {{ kindIs "int64" .spec.n }} {{ hasKey .spec.map "k" }} {{ get .spec.map "k" }}`,
		`{{ ceil 1.2 }} {{ floor 1.8 }} {{ float64 "1.5" }} {{ int "12" }} {{ atoi "7" }} {{ toDecimal "777" }} {{ maxf 1.5 2 }} {{ quote "a" | len }}`,
	} {
		want := new(strings.Builder)
		std, err := template.New("").Funcs(sprig.TxtFuncMap()).Option("missingkey=zero").Parse(text)
		if err == nil {
			err = std.Execute(want, data)
		}
		got, ourErr := executeText(text, data)
		if err != nil || ourErr != nil {
			t.Errorf("%s\ntext/template: %v\nhere: %v", text, err, ourErr)
		} else if got != want.String() {
			t.Errorf("%s\ntext/template: %q\nhere:          %q", text, want, got)
		}
	}
}

// executeText returns the text that a template writes, with its values.
func executeText(text string, parent map[string]any) (string, error) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: text}}})
	if err != nil {
		return "", err
	}
	u := p.children["x"]
	x := p.start(u, &Input{Parent: parent})
	if err := x.invoke("", &x.view.Root); err != nil {
		return "", x.located(err, u.Body())
	}
	return x.Fill(string(x.out.buf), false)
}
