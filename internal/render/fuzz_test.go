package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// injectable are templates that print strings in every way there is. They
// decide nothing by what a string contains.
var injectable = map[string]string{
	"plain":         `a: {{ .spec.a }}`,
	"two":           `a: {{ .spec.a }}{{ .spec.b }}`,
	"spaced":        `a: {{ .spec.a }} {{ .spec.b }}`,
	"within text":   `a: x-{{ .spec.a }}-y:{{ .spec.b }}`,
	"beside digits": `a: 1{{ .spec.a }}2`,
	"numbers":       `a: {{ .spec.n }}{{ .spec.n }}{{ .spec.a }}`,
	"double quotes": `a: "{{ .spec.a }}-{{ .spec.b }}"`,
	"single quotes": `a: '{{ .spec.a }}-{{ .spec.b }}'`,
	"wrapped lines": "a: {{ .spec.a }}\n  {{ .spec.b }}\n  c\nb: \"{{ .spec.a }}\n  {{ .spec.b }}\"",
	"literal":       "a: |\n  {{ .spec.a }}\n    {{ .spec.b }}\n  end\nb: 1",
	"literal keep":  "a: |+\n  {{ .spec.a }}\n\nb: |-\n  {{ .spec.b }}\n\nc: |2\n    {{ .spec.a }}\n",
	"folded":        "a: >\n  {{ .spec.a }}\n  {{ .spec.b }}\nb: >+\n  {{ .spec.a }}\n\nc: >-\n  x\n   {{ .spec.b }}\n",
	"flow":          `a: [{{ .spec.a }}, {{ .spec.b }}, {x: {{ .spec.a }}, y: "{{ .spec.b }}"}]`,
	"flow lines":    "a: {x: {{ .spec.a }},\n  y: [\n    {{ .spec.b }}\n  ]}",
	"list":          "a:\n- {{ .spec.a }}\n- x: {{ .spec.b }}\n  y: {{ .spec.a }}\n- - {{ .spec.b }}",
	"comment":       "# {{ .spec.a }}\na: 1 # {{ .spec.b }}\n#{{ .spec.a }}\nb: {{ .spec.a }} # {{ .spec.b }}",
	"documents":     "a: {{ .spec.a }}\n--- # {{ .spec.b }}\napiVersion: v1\nkind: B\na: {{ .spec.b }}\n...\n",
	"toYaml":        "a:\n  {{- toYaml .spec | nindent 2 }}\nb: {{ toYaml .spec.a }}\nc:\n{{ toYaml .spec.list | indent 4 }}",
	"toYaml text":   "a: |\n  {{- toYaml .spec | nindent 2 }}\nb: >-\n  {{- toYaml .spec | nindent 4 }}\nc: \"{{ toYaml .spec.a }}\"\nd: '{{ toYaml .spec.b }}'",
	"toJson":        "a: {{ toJson .spec }}\nb: '{{ toJson .spec }}'\nc: |\n  {{ toJson .spec }}\nd: {{ toJson .spec.a }}",
	"toPrettyJson":  "a:\n  {{- toPrettyJson .spec | nindent 2 }}\nb: |\n  {{- toPrettyJson .spec | nindent 2 }}",
	"printed":       "a: {{ .spec }}\nb: {{ .spec.list }}\nc: |\n  {{ .spec }}\n",
	"quote":         "a: {{ .spec.a | quote }}\nb: {{ .spec.b | squote }}\nc: |\n  echo {{ quote .spec.a }} {{ squote .spec.b }}\nd: |\n  {{ quote .spec.a .spec.b }}x",
	"quote twice":   "a: {{ .spec.a | quote | quote }}\nb: '{{ .spec.b | quote }}'\nc: {{ toJson .spec | quote }}\nd: {{ include \"text\" . | quote }}",
	"shellQuote":    "a: {{ shellQuote .spec.a }}\nb: |\n    sh -c {{ shellQuote .spec.b }}\n    {{ shellQuote .spec.a | quote }}",
	"include":       "a:\n  {{- include \"map\" . | nindent 2 }}\nb: {{ include \"text\" . }}\nc: |\n  {{- include \"map\" . | nindent 4 }}\nd: x{{ include \"text\" . | trim }}",
	"template":      "a: {{ template \"text\" . }}\nb:\n{{ template \"map\" . }}",
	"fromYaml":      "a: {{ (include \"map\" . | fromYaml).x }}\nb: {{ toYaml .spec | fromYaml }}\nc: {{ include \"map\" . | fromYaml | toYaml | quote }}",
	"fromJson":      "a: {{ toJson .spec | fromJson }}\nb: {{ (toJson .spec | fromJson).a }}\nc: {{ toPrettyJson .spec | fromYaml | toJson | squote }}",
	"merge":         "a: {{ merge (dict \"x\" .spec.a) (dict \"x\" .spec.b \"y\" .spec.b) }}\nb: {{ set (dict) \"k\" .spec.a | toYaml | nindent 2 }}",
	"default":       "a: {{ .spec.gone | default .spec.a }}\nb:\n  {{- toYaml .spec.list | default \"x\" | nindent 2 }}\nc: {{ coalesce .spec.gone (list .spec.b) }}",
	"select":        "a: {{ ternary .spec.a .spec.b true }}\nb: {{ first .spec.list }}\nc: {{ index .spec.list 1 }}\nd: {{ get .spec \"a\" }}\ne: {{ dig \"a\" \"x\" .spec }}",
	"lists":         "a: {{ list .spec.a .spec.b | reverse }}\nb: {{ append .spec.list .spec.a }}\nc: {{ concat .spec.list (list 1 .spec.b) | last }}",
	"characters":    "a: {{ upper .spec.a }}\nb: {{ trunc 5 .spec.b }}\nc: {{ replace \"a\" \"b\" .spec.a }}\nd: {{ .spec.a | trim | title }}\ne: {{ substr 1 3 .spec.a }}",
	"computed":      "a: {{ printf \"%s: %s\" .spec.a .spec.b }}\nb: {{ print .spec.a .spec.b }}\nc: {{ join \",\" .spec.texts }}\nd: {{ cat .spec.a .spec.b }}\ne: {{ printf \"%q\" .spec.a }}",
	"encoded":       "a: {{ b64enc .spec.a }}\nb: {{ sha256sum .spec.b }}\nc: {{ b64enc .spec.a | b64dec }}\nd: {{ urlquery .spec.a }}{{ html .spec.b }}",
	"of rendered":   "a: {{ print (toYaml .spec) }}\nb: {{ replace \"a\" \"b\" (toJson .spec) }}\nc: {{ toYaml .spec | sha256sum }}\nd: {{ toJson .spec | b64enc }}\ne: {{ quote .spec.a | trimAll \"\\\"\" }}",
	"nested":        "a: {{ dict \"x\" (toYaml .spec) \"y\" (include \"map\" .) | toYaml | nindent 2 }}\nb: {{ list (quote .spec.a) }}\nc: {{ toJson (toYaml .spec.a) }}",
	"indent":        "a: |\n{{ .spec.a | indent 2 }}\nb:\n{{ .spec.b | indent 6 }}\nc: |\n  x:\n  {{- .spec.a | nindent 6 }}\nd: {{ indent 3 .spec.b | quote }}",
	"ranges":        "a:\n{{- range .spec.texts }}\n- {{ . }}\n- {{ quote . }}\n{{- end }}\nb:\n{{- range $i, $v := .spec.list }}\n  k{{ $i }}: {{ $v }}\n{{- end }}",
	"keys":          "a:\n  \"x-{{ .spec.a }}\": 1\nb:\n  {{ .spec.a }}: 2\nc: { {{ quote .spec.b }}: 3 }\nd:\n{{- range $k, $v := .spec.map }}\n  {{ $k }}: {{ $v }}\n{{- end }}",
	"maps":          "a: {{ .spec.map }}\nb:\n  {{- toYaml .spec.map | nindent 2 }}\nc: {{ toJson .spec.map }}\nd: {{ keys .spec.map }}\ne: {{ values .spec.map | toYaml | nindent 2 }}\nf: |\n  {{ toYaml .spec.map | nindent 2 }}",
	"metadata":      "metadata:\n  name: {{ .spec.a }}\n  labels: {{ .spec.map }}\n  annotations:\n    {{- toYaml .spec.map | nindent 4 }}",
	"label keys":    "metadata:\n  name: x\n  labels:\n  {{- range $k, $v := .spec.map }}\n    {{ $k }}: {{ $v }}\n  {{- end }}",
	"metadata keys": "metadata:\n  name: x\n  {{- range $k, $v := .spec.map }}\n  {{ $k }}: {{ $v }}\n  {{- end }}",
	"root keys":     "{{ toYaml .spec.map }}\nx: {{ .spec.a }}",
	"aliases":       "a: &x {{ .spec.a }}\nb: *x\nc: &y {k: {{ .spec.b }}}\nd: {<<: *y, l: {{ .spec.a }}}",
	"tags":          "a: !!str {{ .spec.a }}\nb: !!str {{ .spec.n }}\nc: !!map {x: {{ .spec.a }}}",
	"trimmed":       "a: {{ .spec.a -}} x\nb: [ {{- .spec.a -}} , {{- .spec.b -}} ]",
	"delimiters":    "a: [{{ .spec.a }},{{ .spec.b }}]\nb: {x: {{ .spec.a }},y: {{ .spec.b }}}\nc: {{ .spec.a }}:{{ .spec.b }}\nd: {{ .spec.a }}#{{ .spec.b }}",
	"secret":        "stringData:\n  a: {{ .spec.a }}\n  b: {{ quote .spec.b }}\n  c: |\n    {{ toJson .spec }}",
	"kind":          "kind: {{ .spec.a }}",
	"hash in text":  "a: |\n  # {{ toYaml .spec | nindent 2 }}\nb: '#\n  {{ include \"map\" . | nindent 2 }}'\n\"# c\": {{ toYaml .spec.map | nindent 2 }}\nd#: {{ toYaml .spec.map | nindent 2 }}\ne: {{ .spec.a }}#{{ toYaml .spec.b }}",
	"commented out": "# a: {{ toYaml .spec.map | nindent 0 }}",
	"text and hash": "a: b # {{ toYaml .spec.map | nindent 0 }}",
	"hash within":   "{{ include \"hashes\" . }}",
}

// refusedAlways are those of them that data cannot make right.
var refusedAlways = map[string]bool{"kind": true, "metadata keys": true, "commented out": true, "text and hash": true, "hash within": true}

const injectableHelpers = `{{ define "text" }}{{ .spec.a }}/{{ .spec.b }}{{ end }}` +
	`{{ define "map" }}` + "\nx: {{ .spec.a }}\ny:\n- {{ .spec.b | quote }}\nz: |\n  {{ .spec.a }}\nw: {{ toJson .spec.list }}\n" + `{{ end }}` +
	"{{ define \"hashes\" }}a: b\n# {{ toYaml .spec.map | nindent 0 }}{{ end }}"

// FuzzInjection checks the property that this package is about: which paths
// an object has, its apiVersion and its kind do not depend on what the
// strings of the data are, except for the keys of maps that are printed.
func FuzzInjection(f *testing.F) {
	names := slices.Sorted(maps.Keys(injectable))
	for i, s := range hostile {
		f.Add(uint(i), s, s, s, s+"x")
	}
	program := compileInjectable(f)
	f.Fuzz(func(t *testing.T, which uint, a, b, k1, k2 string) {
		if k1 == k2 {
			t.Skip("one key cannot stand for two")
		}
		checkInjection(t, program, names[which%uint(len(names))], [4]string{a, b, k1, k2})
	})
}

// TestHostileStringsDoNotInject puts each hostile string into each template.
func TestHostileStringsDoNotInject(t *testing.T) {
	program := compileInjectable(t)
	for _, name := range slices.Sorted(maps.Keys(injectable)) {
		for _, s := range hostile {
			checkInjection(t, program, name, [4]string{s, "b", "k", "l"})
			checkInjection(t, program, name, [4]string{"a", s, s, "k"})
			checkInjection(t, program, name, [4]string{s, s, s, s + "x"})
		}
	}
}

// hostile are strings that mean something to YAML, to the template language
// or to this package.
var hostile = []string{
	"x\n  hostPID: true", "a: b", "- a", "{a: b}", "[a]", "\"", "'", "''", "\\", "\\n", "#", " # c", "|", "|\n x", ">-", "&a", "*a", "!x", "!!binary aGk=",
	"%YAML 1.1", "---", "\n---\n", "\n---\nkind: Pod\n", "...", "\n...\n", "<<", "=", "~", "null", "true", "yes", "0777", "1_000", "0x10", "1e400", ".inf", "-0",
	"18446744073709551615", ".5", "?", ": ", ":", "-", "@", "`", "\t", "\ta", " ", "  ", " a", "a ", "\n", "\n\n", "a\n", "\na", "a\n\n b\n", "\r", "\r\n", "a\rb",
	"\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\x00", "\x01", "\x7f", "\u0080", "\ue000", "\ue0000x", "\ue0001x", "\ue00012x\ue000", "\uf8ff", "\U0010ffff",
	"{{ .spec }}", "}}", "{{", "%!s", "%s", "$1", "${1}", "templater.dev/x", "a.templater.dev/x", "namespace", "metadata", "kind", "apiVersion", "ownerReferences", "é", "日本",
	"'\\''", "$(id)", "`id`", "</script>", "key with spaces", "a,b", "a]", "a}", "{", "}", "[", "]", ",", "", "a\n  b: c\n\td", strings.Repeat("a", 1100), strings.Repeat("long line ", 200),
}

func compileInjectable(t testing.TB) *Program {
	src := Source{Helpers: injectableHelpers}
	for _, name := range slices.Sorted(maps.Keys(injectable)) {
		text := injectable[name]
		if name != "kind" {
			text = "kind: A\n" + text
		}
		if name == "secret" {
			text = strings.Replace(text, "kind: A", "kind: Secret", 1)
		}
		src.Children = append(src.Children, syntax.Template{Name: name, Text: "apiVersion: v1\n" + text})
	}
	p, err := Compile(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// parentWith returns a parent in which strings stand in many places.
func parentWith(s [4]string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": s[0]},
		"spec": map[string]any{
			"a": s[0], "b": s[1], "n": int64(7), "list": []any{s[0], s[1], map[string]any{"in": s[0]}}, "texts": []any{s[0], s[1]},
			"map": map[string]any{s[2]: s[0], s[3]: s[1]},
		},
	}
}

// benign stand in for any other strings. Their keys sort as those do.
func benign(s [4]string) [4]string {
	if s[2] < s[3] {
		return [4]string{"ax", "bx", "k1", "k2"}
	}
	return [4]string{"ax", "bx", "k2", "k1"}
}

func checkInjection(t *testing.T, p *Program, name string, s [4]string) {
	plain := benign(s)
	want, err := p.Child(name, &Input{Parent: parentWith(plain)})
	if err != nil && !refusedAlways[name] && name != "lists" {
		t.Fatalf("%s: benign strings: %v", name, err)
	}
	got, err := p.Child(name, &Input{Parent: parentWith(s)})
	if err != nil {
		checkRefusal(t, name, err)
		return
	}
	if refusedAlways[name] {
		t.Fatalf("%s: data decides: %v", name, got)
	}
	author := authorKeys(want, plain)
	if isAmong(author, s) {
		return // the key cannot be told from the author's
	}
	if diff := cmp.Diff(paths(want, author), paths(got, author)); diff != "" {
		t.Errorf("%s: with %q, other paths (-benign +got):\n%s", name, s, diff)
	}
	out, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), p.marker) && !strings.Contains(strings.Join(s[:], ""), p.marker) {
		t.Errorf("%s: with %q, a token survives: %s", name, s, out)
	}
}

// checkRefusal allows errors only about keys from data, or invalid text that
// a function cut out of data.
func checkRefusal(t *testing.T, name string, err error) {
	t.Helper()
	e, ok := errors.AsType[*syntax.Error](err)
	switch {
	case !ok:
		t.Fatalf("%s: error is a %T", name, err)
	case refusedAlways[name]:
	case strings.Contains(e.Message, "key printed from a value"):
	case strings.Contains(e.Message, "duplicate key"):
	case strings.Contains(e.Message, "not valid UTF-8"): // the API server has no such strings
	case strings.Contains(e.Message, "NUL character") && name == "shellQuote":
	default:
		t.Errorf("%s: %v", name, err)
	}
}

// authorKeys returns the keys that come from the template.
func authorKeys(want []Object, plain [4]string) map[string]bool {
	author := map[string]bool{}
	for _, o := range want {
		addKeys(author, o.Content)
	}
	for _, k := range plain {
		delete(author, k)
		delete(author, "x-"+k)
	}
	return author
}

// isAmong reports whether a key made of strings is also one of the author's.
func isAmong(author map[string]bool, s [4]string) bool {
	return slices.ContainsFunc(s[:], func(k string) bool { return author[k] || author["x-"+k] })
}

// addKeys adds the keys of all maps in v.
func addKeys(keys map[string]bool, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			keys[key] = true
			addKeys(keys, value)
		}
	case []any:
		for _, item := range v {
			addKeys(keys, item)
		}
	}
}

// paths lists what objects consist of: their paths and the type of what is
// there, with ? for keys that are not the author's, and apiVersion and kind
// with their values.
func paths(objects []Object, author map[string]bool) []string {
	var all []string
	for i, o := range objects {
		all = append(all, fmt.Sprintf("%d %v %v", i, o.Content["apiVersion"], o.Content["kind"]))
		all = appendPaths(all, fmt.Sprint(i), o.Content, author)
	}
	slices.Sort(all)
	return all
}

func appendPaths(all []string, path string, v any, author map[string]bool) []string {
	switch v := v.(type) {
	case map[string]any:
		all = append(all, path+" map")
		for key, value := range v {
			if !author[key] {
				key = "?"
			}
			all = appendPaths(all, path+"."+key, value, author)
		}
	case []any:
		all = append(all, path+" list")
		for i, item := range v {
			all = appendPaths(all, fmt.Sprintf("%s[%d]", path, i), item, author)
		}
	default:
		all = append(all, fmt.Sprintf("%s %T", path, v))
	}
	return all
}
