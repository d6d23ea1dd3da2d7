package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// testdata returns a file of testdata. The tests of functions use the same ones.
func testdata(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// hash256 returns the SHA-256 hash of s in hexadecimal.
func hash256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// renderValue renders "v: TEXT" as the status and returns the JSON of v.
func renderValue(t *testing.T, text string) (string, error) {
	t.Helper()
	return renderDocument(t, "v: "+text)
}

// renderDocument renders a status and returns the JSON of its field v.
func renderDocument(t *testing.T, text string) (string, error) {
	t.Helper()
	p, err := Compile(Source{Status: text, Helpers: testdata(t, "helpers.txt"), Children: []syntax.Template{{Name: "pods"}},
		Controller: "tc", Values: map[string]any{"color": "red", "count": 2}})
	if err != nil {
		return "", err
	}
	in := &Input{Ready: running}
	decodeJSON(t, []byte(testdata(t, "parent.json")), &in.Parent)
	in.Observed = from(map[string][]map[string]any{"pods": {{"metadata": map[string]any{"name": "p", "resourceVersion": "1"}}}})
	status, err := p.Status(in)
	if err != nil {
		return "", err
	}
	v, there := status["v"]
	if !there {
		return "dropped", nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), nil
}

// TestRenderedValues shows what each way to write a value yields.
func TestRenderedValues(t *testing.T) {
	for why, c := range map[string]struct{ text, want string }{
		"a string remains a string":                          {`{{ .spec.s }}`, `"text"`},
		"a string that looks like a number remains a string": {`{{ "120" }}`, `"120"`},
		"a string that looks like a boolean":                 {`{{ "true" }}`, `"true"`},
		"a string that looks like null":                      {`{{ "null" }}`, `"null"`},
		"a string with an exponent":                          {`{{ "1e3" }}`, `"1e3"`},
		"a string that is a tilde":                           {`{{ "~" }}`, `"~"`},
		"a string that is an equals sign":                    {`{{ "=" }}`, `"="`},
		"a string that is empty is not a missing value":      {`{{ .spec.empty }}`, `""`},
		"a number remains a number":                          {`{{ .spec.n }}`, `3`},
		"the largest integer is exact":                       {`{{ .spec.big }}`, `9223372036854775807`},
		"the least integer is exact":                         {`{{ .spec.low }}`, `-9223372036854775808`},
		"a float remains a float":                            {`{{ .spec.f }}`, `1.5`},
		"a boolean remains a boolean":                        {`{{ .spec.yes }}`, `true`},
		"a number in quotes is a string":                     {`"{{ .spec.n }}"`, `"3"`},
		"a boolean in quotes is a string":                    {`"{{ .spec.yes }}"`, `"true"`},
		"quote makes a number a string":                      {`{{ quote .spec.n }}`, `"3"`},
		"squote makes a number a string":                     {`{{ squote .spec.n }}`, `"3"`},
		"two numbers side by side are text":                  {`{{ 1 }}{{ 2 }}`, `"12"`},
		"a digit of the author's beside a number is text":    {`8{{ .spec.n }}`, `"83"`},
		"a unit beside a number is text":                     {`{{ .spec.n }}Gi`, `"3Gi"`},
		"text around a value":                                {`a-{{ .spec.s }}-b`, `"a-text-b"`},
		"spaces at the ends of a value stay":                 {`{{ "  x  " }}`, `"  x  "`},
		"a value in double quotes is not unescaped":          {`"{{ "\\n" }}"`, `"\\n"`},
		"a value in single quotes is not unescaped":          {`'{{ "''" }}'`, `"''"`},
		"escapes of the author's work beside a value":        {`"\t{{ .spec.s }}\u00e9"`, `"\ttexté"`},
		"a value may follow a comment sign without a space":  {`a#{{ .spec.s }}`, `"a#text"`},
		"a value in a comment is dropped":                    {`x # {{ .spec.evil }}`, `"x"`},
		"a map prints as a map":                              {`{{ .spec.map }}`, `{"a":"x: y","b":2}`},
		"a list prints as a list":                            {`{{ .spec.list }}`, `["a","b"]`},
		"an empty map prints":                                {`{{ .spec.emptyMap }}`, `{}`},
		"an empty list prints":                               {`{{ .spec.none }}`, `[]`},
		"toYaml":                                             {"\n" + `  {{- toYaml .spec.map | nindent 2 }}`, `{"a":"x: y","b":2}`},
		"toYaml of a scalar":                                 {`{{ toYaml .spec.evil }}`, `"x\n  hostPID: true"`},
		"toYaml in flow":                                     {`[{{ toYaml .spec.s }}]`, `["text"]`},
		"toYaml of a missing value is null":                  {`{{ toYaml .spec.missing }}`, `null`},
		"toJson":                                             {`{{ toJson .spec.map }}`, `{"a":"x: y","b":2}`},
		"toPrettyJson":                                       {"\n" + `  {{ toPrettyJson .spec.map | nindent 2 }}`, `{"a":"x: y","b":2}`},
		"toJson as text":                                     {`'{{ toJson .spec.map }}'`, `"{\"a\":\"x: y\",\"b\":2}"`},
		"toJson of a string as text has its quotes":          {`'{{ toJson .spec.s }}'`, `"\"text\""`},
		"toJson quoted is text":                              {`{{ toJson .spec.map | quote }}`, `"{\"a\":\"x: y\",\"b\":2}"`},
		"quote of quote is text with quotes":                 {`{{ .spec.s | quote | quote }}`, `"\"text\""`},
		"include of a map":                                   {"\n" + `  {{- include "map" . | nindent 2 }}`, `{"evil":"x\n  hostPID: true","k":"text"}`},
		"include within text":                                {`a/{{ include "name" . }}`, `"a/thing-x"`},
		"include in quotes":                                  {`{{ include "name" . | quote }}`, `"thing-x"`},
		"template writes in place":                           {`{{ template "name" . }}`, `"thing-x"`},
		"trim of what include yields":                        {"\n" + `  {{- include "map" . | trim | nindent 2 }}`, `{"evil":"x\n  hostPID: true","k":"text"}`},
		"sha256sum of what include yields sees characters":   {`{{ include "name" . | sha256sum }}`, `"` + hash256("thing-x") + `"`},
		"fromYaml of what include yields":                    {`{{ (include "map" . | fromYaml).evil }}`, `"x\n  hostPID: true"`},
		"fromJson of what include yields":                    {`{{ (include "json" . | fromJson).a }}`, `"text"`},
		"fromYaml of toYaml is the value":                    {`{{ toYaml .spec.map | fromYaml }}`, `{"a":"x: y","b":2}`},
		"fromJson of toJson is the value":                    {`{{ toJson .spec.map | fromJson }}`, `{"a":"x: y","b":2}`},
		"fromJson of data":                                   {`{{ fromJson .spec.json }}`, `{"a":[1,2.5,"x",null]}`},
		"fromYaml of data":                                   {`{{ fromYaml .spec.yaml }}`, `{"a":1,"b":["yes it is",2]}`},
		"default of what is missing":                         {`{{ .spec.a.b.c | default 7 }}`, `7`},
		"default of empty text":                              {`{{ .spec.empty | default "d" }}`, `"d"`},
		"default of an empty list":                           {`{{ .spec.none | default "d" }}`, `"d"`},
		"default leaves 0":                                   {`{{ .spec.zero | default 7 }}`, `0`},
		"default leaves false":                               {`{{ .spec.no | default true }}`, `false`},
		"default of include that yields no characters":       {`{{ include "blank" . | default "d" }}`, `"d"`},
		"if of include that yields no characters":            {`{{ if include "blank" . }}1{{ else }}2{{ end }}`, `2`},
		"coalesce":                                        {`{{ coalesce .spec.missing .spec.empty .spec.s }}`, `"text"`},
		"ternary":                                         {`{{ ternary .spec.missing "b" .spec.missing }}`, `"b"`},
		"eq of missing values":                            {`{{ eq .spec.missing nil }}`, `true`},
		"eq of a missing value and empty text":            {`{{ eq .spec.missing "" }}`, `false`},
		"eq of an integer and a whole float":              {`{{ eq .spec.whole 2 }}`, `true`},
		"index is nil-safe":                               {`{{ index .spec.missing "a" 0 | default 1 }}`, `1`},
		"index beyond the end is nothing":                 {`{{ index .spec.list 9 | default "d" }}`, `"d"`},
		"first of an empty list is nothing":               {`{{ first .spec.none | default "d" }}`, `"d"`},
		"int of 08 is decimal":                            {`{{ int "08" }}`, `8`},
		"int of a float cuts":                             {`{{ int 3.9 }}`, `3`},
		"an explicit null is kept":                        {`null`, `null`},
		"a tilde is null":                                 {`~`, `null`},
		"null in quotes is text":                          {`"null"`, `"null"`},
		"an empty value drops its key":                    {``, `dropped`},
		"an empty range drops its key":                    {"\n{{ range .spec.none }}- {{ . }}\n{{ end }}", `dropped`},
		"an empty map from the template is kept":          {`{}`, `{}`},
		"true of the author's":                            {`true`, `true`},
		"a decimal number":                                {`-12`, `-12`},
		"a number with a plus":                            {`+12`, `12`},
		"minus zero is zero":                              {`-0`, `0`},
		"a float of the author's":                         {`.5`, `0.5`},
		"an exponent of the author's":                     {`1e3`, `1000`},
		"hexadecimal means the same to all YAML":          {`0x10`, `16`},
		"a timestamp remains text":                        {`2024-01-02T03:04:05Z`, `"2024-01-02T03:04:05Z"`},
		"a date remains text":                             {`2024-01-02`, `"2024-01-02"`},
		"ports stay text":                                 {`22:22`, `"22:22"`},
		"an address remains text":                         {`10.0.0.1`, `"10.0.0.1"`},
		"an amount remains text":                          {`100m`, `"100m"`},
		"a word of the author's":                          {`nope`, `"nope"`},
		"an equals sign":                                  {`=`, `"="`},
		"a tag that says text":                            {`!!str 5`, `"5"`},
		"a tag that says text, on a number":               {`!!str {{ .spec.n }}`, `"3"`},
		"an alias":                                        {`[&a {k: {{ .spec.s }}}, *a]`, `[{"k":"text"},{"k":"text"}]`},
		"a merge key of the author's":                     {"\n  a: &a {k: 1, l: 2}\n  b: {<<: *a, k: 3}", `{"a":{"k":1,"l":2},"b":{"k":3,"l":2}}`},
		"a merge key from data is an ordinary key":        {`{ {{ "<<" }}: {a: 1} }`, `{"\u003c\u003c":{"a":1}}`},
		"a key that is a number is text":                  {`{80: a, true: b, {{ 5 }}: c}`, `{"5":"c","80":"a","true":"b"}`},
		"a key with a value in it":                        {`{a-{{ .spec.s }}: 1}`, `{"a-text":1}`},
		"a quoted key":                                    {`{ {{ .spec.evil | quote }}: 1}`, `{"x\n  hostPID: true":1}`},
		"a literal block clips":                           {"|\n  {{ .spec.lines }}\n", `"one\ntwo\n"`},
		"a literal block keeps":                           {"|+\n  {{ .spec.lines }}\n", `"one\ntwo\n\n"`},
		"a literal block strips":                          {"|-\n  {{ .spec.lines }}\n", `"one\ntwo"`},
		"a literal block of empty text":                   {"|\n  {{ .spec.empty }}\n", `""`},
		"a block with an anchor and a tag":                {"&a !!str |-\n  {{ .spec.lines }}\n", `"one\ntwo"`},
		"a block with an indentation indicator":           {"|2-\n    {{ .spec.lines }}\n", `"  one\n  two"`},
		"a folded block folds the author's lines":         {">-\n  a\n  {{ .spec.s }}\n  b\n", `"a text b"`},
		"a folded block leaves a value's lines":           {">-\n  a\n  {{ .spec.lines }}\n", `"a one\ntwo"`},
		"later lines get the first line's indentation":    {"|\n  a:\n    {{ .spec.lines }}", `"a:\n  one\n  two\n"`},
		"a literal block without a line end adds none":    {"|\n  {{ .spec.s }}", `"text"`},
		"a folded block without a line end adds none":     {">\n  {{ .spec.s }}\n  a", `"text a"`},
		"a literal block at the end keeps a value's":      {"|\n  {{ .spec.lines }}", `"one\ntwo\n"`},
		"later lines, after text":                         {"|\n  a:\n    x: {{ .spec.lines }}", `"a:\n  x: one\n  two\n"`},
		"indent in a block, as in Helm":                   {"|\n{{ .spec.lines | indent 4 }}", `"one\ntwo\n"`},
		"nindent in a block, as in Helm":                  {"|\n  a:\n  {{- .spec.lines | nindent 4 }}", `"a:\n  one\n  two\n"`},
		"indent outside of a block is not content":        {`{{ .spec.lines | nindent 4 }}`, `"one\ntwo\n"`},
		"shellQuote is never indented":                    {"|\n  if x; then\n    echo {{ .spec.lines | shellQuote }}\n", `"if x; then\n  echo 'one\ntwo\n'\n"`},
		"shellQuote escapes quotes":                       {`{{ shellQuote "it's" }}`, `"'it'\\''s'"`},
		"toYaml in a block is YAML":                       {"|\n  {{- toYaml .spec.map | nindent 2 }}", `"a: \"x: y\"\nb: 2"`},
		"toYaml in a block quotes what needs it":          {"|\n  {{ toYaml (list \"yes\" \"1\" \"a b\" \"\" \"a: b\" \"nginx:1.2\" \"'\" \"x#\" \"~\") | nindent 2 }}", `"\n- \"yes\"\n- \"1\"\n- a b\n- \"\"\n- \"a: b\"\n- nginx:1.2\n- \"'\"\n- \"x#\"\n- \"~\""`},
		"a map printed in a block is flow YAML":           {"|\n  {{ .spec.map }}", `"{a: \"x: y\", b: 2}"`},
		"quote in a block escapes":                        {"|\n  echo {{ .spec.evil | quote }}", `"echo \"x\\n  hostPID: true\""`},
		"squote in a block doubles quotes":                {"|\n  echo {{ squote \"it's\" }}", `"echo 'it''s'"`},
		"b64enc of a value":                               {`{{ b64enc .spec.s }}`, `"dGV4dA=="`},
		"printf of values":                                {`{{ printf "%s-%02d" .spec.s .spec.n }}`, `"text-03"`},
		"printf %d of a whole float":                      {`{{ printf "%d" .spec.whole }}`, `"2"`},
		"printf of a percent sign in a value":             {`{{ printf "%s" "%!d" }}`, `"%!d"`},
		"dnsLabel leaves a valid name":                    {`{{ dnsLabel "a-1" }}`, `"a-1"`},
		"dnsLabel makes a valid name, with a hash":        {`{{ dnsLabel "Äb_c.D-" }}`, `"b-c-d-` + hash256("Äb_c.D-")[:8] + `"`},
		"dnsLabel of other text is another name":          {`{{ dnsLabel "a b" }} {{ dnsLabel "a-b" }} {{ dnsLabel "A-B" }} {{ dnsLabel "a-b-" }}`, `"a-b-` + hash256("a b")[:8] + ` a-b a-b-` + hash256("A-B")[:8] + ` a-b-` + hash256("a-b-")[:8] + `"`},
		"dnsLabel of 63 characters":                       {`{{ dnsLabel (repeat 63 "a") }}`, `"` + strings.Repeat("a", 63) + `"`},
		"dnsLabel of 63 characters, changed":              {`{{ dnsLabel (repeat 63 "A") }}`, `"` + strings.Repeat("a", 54) + "-" + hash256(strings.Repeat("A", 63))[:8] + `"`},
		"dnsLabel cuts with a hash":                       {`{{ dnsLabel (repeat 64 "a") }}`, `"` + strings.Repeat("a", 54) + "-" + hash256(strings.Repeat("a", 64))[:8] + `"`},
		"collect leaves out what is missing":              {`{{ collect "status.phase" .spec.objects }}`, `["Running","Failed"]`},
		"collect with dots in a key":                      {`{{ collect "metadata.labels['x.y/z']" .spec.objects }}`, `["1"]`},
		"collect of a missing list":                       {`{{ collect "a" .spec.missing }}`, `[]`},
		"where":                                           {`{{ where "status.phase" "Failed" .spec.objects | collect "metadata.name" }}`, `["p-2"]`},
		"where of a missing value":                        {`{{ where "status.phase" nil .spec.objects | collect "metadata.name" }}`, `["p-3"]`},
		"whereNot":                                        {`{{ whereNot "status.phase" "Failed" .spec.objects | collect "metadata.name" }}`, `["p-1","p-3"]`},
		"sortBy puts missing values first":                {`{{ sortBy "status.n" .spec.objects | collect "metadata.name" }}`, `["p-3","p-2","p-1"]`},
		"named":                                           {`{{ (named "p-2" .spec.objects).status.phase }}`, `"Failed"`},
		"named of none is nothing":                        {`{{ named "x" .spec.objects | default "none" }}`, `"none"`},
		"condition":                                       {`{{ condition "Ready" (first .spec.objects) }}`, `"True"`},
		"condition that is not there":                     {`{{ condition "Ready" (last .spec.objects) | default "Unknown" }}`, `"Unknown"`},
		"ready":                                           {`{{ range .spec.objects }}{{ ready . }} {{ end }}`, `"true false false"`},
		"ready of nothing":                                {`{{ ready nil }}`, `false`},
		"set works on a copy":                             {`{{ $d := dict "a" 1 }}{{ $e := set $d "b" 2 }}{{ $d }}`, `{"a":1}`},
		"set into itself makes no cycle":                  {`{{ $d := dict "a" 1 }}{{ $d = set $d "self" $d }}{{ $d }}`, `{"a":1,"self":{"a":1}}`},
		"merge works on copies":                           {`{{ $d := dict "m" (dict "a" 1) }}{{ $e := merge $d (dict "m" (dict "b" 2)) }}{{ list $d $e }}`, `[{"m":{"a":1}},{"m":{"a":1,"b":2}}]`},
		"mergeOverwrite lets later maps win":              {`{{ mergeOverwrite (dict "a" 1 "b" 1) (dict "a" 2) }}`, `{"a":2,"b":1}`},
		"a list printed by append leaves its argument":    {`{{ $l := list 1 }}{{ $m := append $l 2 }}{{ $n := append $l 3 }}{{ list $m $n }}`, `[[1,2],[1,3]]`},
		"the name of the controller":                      {`{{ .controller.name }}`, `"tc"`},
		"values":                                          {`{{ .values.color }}-{{ .values.count }}`, `"red-2"`},
		"a missing key of values is nil":                  {`{{ .values.size | default 1 }}`, `1`},
		"children in a status":                            {`{{ len .children.pods }}`, `1`},
		"live objects hide what always changes":           {`{{ first .children.pods }}`, `{"metadata":{"name":"p"}}`},
		"the parent hides what always changes":            {`{{ .parent.metadata }}`, `{"labels":{"a":"b"},"name":"thing","uid":"u"}`},
		"the root serves as a map":                        {`{{ keys . }}`, `["children","controller","metadata","observed","parent","related","spec","status","values"]`},
		"children by a name that is computed":             {`{{ index .children (print "po" "ds") | len }}`, `1`},
		"sortBy puts booleans before numbers before text": {`{{ sortBy "v" (list (dict "v" "b") (dict "v" 2) (dict "v" true) (dict "v" "a") (dict "v" false) (dict "v" 1.5)) | collect "v" }}`, `[false,true,1.5,2,"a","b"]`},
		"trunc from the end":                              {`{{ trunc -2 "abc" }}`, `"bc"`},
		"trunc never cuts a character in two":             {`{{ trunc 2 "aé" }}{{ trunc -1 "éa" }}{{ trunc -2 "aéa" }}`, `"aaa"`},
		"abbrevboth never cuts a character in two":        {`{{ abbrevboth 0 6 "éaéaéaé" }} {{ abbrevboth 5 8 "ééééééééé" }} {{ abbrevboth 99 8 "éaéaéaéaéa" }} {{ abbrevboth 6 9 "éaéaéaéaéaéaéa" }}`, `"éa... ...é... ...aéa ...éa..."`},
		"substr never cuts a character in two":            {`{{ substr 1 4 "éaé" }}`, `"a"`},
		"a very large float as text":                      {`{{ 1e21 }}-{{ 1e-7 }}`, `"1e+21-1e-07"`},
		"a folded block with two indicators":              {">2+\n    {{ .spec.lines }}\n\n", `"  one\n  two\n\n\n"`},
		"a merge of several maps":                         {"\n  a: &a {k: 1}\n  b: &b {k: 2, l: 2}\n  c: {<<: [*a, *b]}", `{"a":{"k":1},"b":{"k":2,"l":2},"c":{"k":1,"l":2}}`},
		"a set of keys in braces is empty":                {`{a, b}`, `{}`},
		"the controller prints as a map":                  {`{{ .controller }}`, `{"name":"tc"}`},
		"the controller as YAML":                          {"\n  {{- toYaml .controller | nindent 2 }}", `{"name":"tc"}`},
		"a range over what the template sees":             {`{{ range $k, $v := . }}{{ $k }} {{ end }}`, `"children controller metadata observed parent related spec status values"`},
		"deepEqual looks into maps and lists":             {`{{ deepEqual (dict "a" (list 1 2.0)) (dict "a" (list 1.0 2)) }}{{ deepEqual (dict "a" 1) (dict "a" 2) }}{{ deepEqual (list 1) (list 1 2) }}`, `"truefalsefalse"`},
		"a value beside a boolean":                        {`{{ .spec.yes }}{{ .spec.n }}`, `"true3"`},
		"wrap counts characters":                          {`{{ wrapWith 2 "|" "éééé" }}`, `"éé|éé"`},
		"fromYaml with keys of ours, left out":            {`{{ omit (fromYaml "templater.dev/x: 1\na: 2") "templater.dev/x" }}`, `{"a":2}`},
		"fromYaml with a byte order mark":                 {`{{ fromYaml "\ufeffa: 1" }}`, `{"a":1}`},
		"text that looks like a token, as YAML":           {`{{ fromYaml "a: \ue0000x" | toJson | b64enc }}`, `"eyJhIjoi7oCAMHgifQ=="`},
		"semver":                                          {`{{ (semver "1.2.3").Minor }}`, `2`},
		"a long line of text is not folded":               {`{{ repeat 200 "a b" }}`, `"` + strings.Repeat("a b", 200) + `"`},
	} {
		t.Run(why, func(t *testing.T) {
			got, err := renderValue(t, c.text)
			if err != nil || got != c.want {
				t.Errorf("%s\ngot  %s, error %v\nwant %s", c.text, got, err, c.want)
			}
		})
	}
}
