package render

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestErrors shows the exact error of what must not pass.
func TestErrors(t *testing.T) {
	for why, c := range map[string]struct{ text, want string }{
		// Missing values.
		"a missing value is never printed":       {`{{ .spec.a.b }}`, `status:1:7: .spec.a.b has no value; set it, or use default, required or if`},
		"an explicit null is not printed either": {`{{ .spec.null }}`, `status:1:7: .spec.null has no value; set it, or use default, required or if`},
		"a missing value in a block":             {"|\n  a\n  {{ .spec.a }}", `status:3:6: .spec.a has no value; set it, or use default, required or if`},
		"function without a result":              {`{{ first .spec.none }}`, `status:1:7: first .spec.none has no value; set it, or use default, required or if`},
		"a missing argument":                     {`{{ upper .spec.a }}`, `status:1:7: upper: argument 1, .spec.a, has no value; set it, or use default, required or if`},
		"a missing argument of a pipeline":       {`{{ .spec.a | upper }}`, `status:1:17: upper: argument 1, the value before the |, has no value; set it, or use default, required or if`},
		"a missing part of a text":               {`{{ printf "%s-%s" .spec.s .spec.a }}`, `status:1:7: printf: argument 3, .spec.a, has no value; set it, or use default, required or if`},
		"a missing item of join":                 {`{{ list "a" .spec.a | join "," }}`, `status:1:26: join: item 1 of argument 2 has no value`},
		"a field of a string":                    {`{{ .spec.s.a }}`, `status:1:7: a string has no fields, so it has no .a`},
		"a field of a list":                      {`{{ .spec.list.a }}`, `status:1:7: a list has no fields, so it has no .a`},
		"a field of a number":                    {`{{ .spec.n.a }}`, `status:1:7: a number has no fields, so it has no .a`},
		"a path into a list":                     {`{{ collect "spec.list.a" (list .) }}`, `status:1:7: collect: the path leads into a list, which has no fields`},
		// Numbers.
		"int of letters is not 0":        {`{{ int "abc" }}`, `status:1:7: int: argument 1 is text that is not a whole decimal number`},
		"int of digits and letters":      {`{{ int "3x" }}`, `status:1:7: int: argument 1 is text that is not a whole decimal number`},
		"int of empty text":              {`{{ int .spec.empty }}`, `status:1:7: int: argument 1 is text that is not a whole decimal number`},
		"int of a list":                  {`{{ int .spec.list }}`, `status:1:7: int: argument 1 is a list, not a number`},
		"int of a boolean":               {`{{ int true }}`, `status:1:7: int: argument 1 is a boolean, not a number`},
		"int of a huge float":            {`{{ int 1e30 }}`, `status:1:7: int: the result does not fit in 64 bits`},
		"add of a fraction":              {`{{ add 1.5 1 }}`, `status:1:7: add: argument 1 is not a whole number; int drops its fraction, and addf takes it as it is`},
		"mod of a fraction":              {`{{ mod 5 1.5 }}`, `status:1:7: mod: argument 2 is not a whole number; int drops its fraction`},
		"max of a fraction":              {`{{ max 1 1.5 }}`, `status:1:7: max: argument 2 is not a whole number; int drops its fraction, and maxf takes it as it is`},
		"add of a fraction in text":      {`{{ add "1.5" 1 }}`, `status:1:7: add: argument 1 is text that is not a whole decimal number`},
		"add overflows":                  {`{{ add .spec.big 1 }}`, `status:1:7: add: the result does not fit in 64 bits`},
		"sub overflows":                  {`{{ sub .spec.low 1 }}`, `status:1:7: sub: the result does not fit in 64 bits`},
		"mul overflows":                  {`{{ mul .spec.big 2 }}`, `status:1:7: mul: the result does not fit in 64 bits`},
		"mul of the least integer by -1": {`{{ mul .spec.low -1 }}`, `status:1:7: mul: the result does not fit in 64 bits`},
		"div by 0":                       {`{{ div 1 .spec.zero }}`, `status:1:7: div: division by 0`},
		"div of the least integer by -1": {`{{ div .spec.low -1 }}`, `status:1:7: div: the result does not fit in 64 bits`},
		"mod by 0":                       {`{{ mod 1 0 }}`, `status:1:7: mod: division by 0`},
		"divf by 0":                      {`{{ divf 1 0 }}`, `status:1:7: divf: division by 0`},
		"mulf to infinity":               {`{{ mulf 1e308 10 }}`, `status:1:7: mulf: the result is not a finite number`},
		"float64 of infinity":            {`{{ float64 "Inf" }}`, `status:1:7: float64: argument 1 is text that is not a number`},
		"float64 of hexadecimal":         {`{{ float64 "0x1p3" }}`, `status:1:7: float64: argument 1 is text that is not a number`},
		"float64 of digits in groups":    {`{{ float64 "1_0" }}`, `status:1:7: float64: argument 1 is text that is not a number`},
		"float64 of NaN":                 {`{{ float64 "NaN" }}`, `status:1:7: float64: argument 1 is text that is not a number`},
		"until of less than 0":           {`{{ until -1 }}`, `status:1:7: until: the step has the wrong sign, so the end is never reached`},
		"a step of 0":                    {`{{ untilStep 0 5 0 }}`, `status:1:7: untilStep: the step is 0`},
		"repeat of less than 0":          {`{{ repeat -1 "a" }}`, `status:1:7: repeat: argument 1 is negative`},
		// printf never writes %!.
		"printf of a verb that does not fit": {`{{ printf "%d" .spec.s }}`, `status:1:7: printf: argument 2 is a string, which %d cannot format`},
		"printf %s of a number":              {`{{ printf "%s" .spec.n }}`, `status:1:7: printf: argument 2 is a number, which %s cannot format`},
		"printf %d of a fraction":            {`{{ printf "%d" .spec.f }}`, `status:1:7: printf: argument 2 is a number, which %d cannot format`},
		"printf of too few arguments":        {`{{ printf "%s" }}`, `status:1:7: printf: the format has more directives than there are arguments`},
		"printf of too many arguments":       {`{{ printf "%s" "a" "b" }}`, `status:1:7: printf: the format does not use argument 3`},
		"printf of a verb that is not known": {`{{ printf "%y" 1 }}`, `status:1:7: printf: the format has a directive that is not supported; write %[flags][width][.precision] and one of the letters v s q d x X f F g G e E t c b o U, without * and [1]`},
		"printf of a flag after the width":   {`{{ printf "%5-d" 1 }}`, `status:1:7: printf: the format has a directive that is not supported; write %[flags][width][.precision] and one of the letters v s q d x X f F g G e E t c b o U, without * and [1]`},
		"printf of two precisions":           {`{{ printf "%1.2.3f" 1.5 }}`, `status:1:7: printf: the format has a directive that is not supported; write %[flags][width][.precision] and one of the letters v s q d x X f F g G e E t c b o U, without * and [1]`},
		"printf that ends early":             {`{{ printf "%" }}`, `status:1:7: printf: the format ends within a directive`},
		"printf of a list":                   {`{{ printf "%v" .spec.list }}`, `status:1:7: printf: argument 2 is a list; convert it with toJson`},
		// Kinds.
		"print of a map":                                     {`{{ print .spec.map }}`, `status:1:7: print: argument 1 is a map, not text; convert it with toJson`},
		"range over text":                                    {`{{ range .spec.s }}{{ end }}`, `status:1:13: range needs a list, a map or an integer; .spec.s is a string`},
		"range over a float":                                 {`{{ range .spec.f }}{{ end }}`, `status:1:13: range needs a list, a map or an integer; .spec.f is a number`},
		"range over an integer with two variables":           {`{{ range $i, $v := .spec.n }}{{ end }}`, `status:1:13: range over an integer has one variable, not two`},
		"eq of a number and text":                            {`{{ eq .spec.n "3" }}`, `status:1:7: eq: cannot compare a number with a string; convert one of them with int, float64 or toString`},
		"eq of lists":                                        {`{{ eq .spec.list .spec.list }}`, `status:1:7: eq: cannot compare lists and maps; use deepEqual`},
		"lt of a number and text":                            {`{{ lt .spec.n "3" }}`, `status:1:7: lt: cannot order a number and a string; convert one of them with int, float64 or toString`},
		"ternary of text":                                    {`{{ ternary 1 2 "x" }}`, `status:1:7: ternary: argument 3 is a string, not a boolean`},
		"dict of an odd number":                              {`{{ dict "a" }}`, `status:1:7: dict: needs a value for each key`},
		"slice beyond the end":                               {`{{ slice .spec.list 1 5 }}`, `status:1:7: slice: argument 3 is out of range`},
		"b64dec of other text":                               {`{{ b64dec "%" }}`, `status:1:7: b64dec: argument 1 has an invalid encoding`},
		"b64dec of what is no text":                          {`{{ b64dec "/w==" }}`, `status:1:7: a value is not valid UTF-8; encode it with b64enc`},
		"trunc never cuts a character in two, but slice may": {`{{ slice "é" 1 2 }}`, `status:1:7: a value is not valid UTF-8; encode it with b64enc`},
		"urlParse of no URL does not quote it":               {`{{ urlParse "http://[" }}`, `status:1:7: urlParse: argument 1 is not a URL`},
		"urlJoin of a user that no URL can have":             {`{{ urlJoin (dict "host" "h" "userinfo" "[") }}`, `status:1:7: urlJoin: argument 1 does not have the parts of a URL as strings`},
		"semver of no version":                               {`{{ semver "x" }}`, `status:1:7: semver: argument 1 is not a version`},
		"fromJson of no JSON does not quote it":              {`{{ fromJson .spec.evil }}`, `status:1:7: fromJson: the text is not valid JSON, or is ambiguous`},
		"fromJson of more than one":                          {`{{ fromJson "1 2" }}`, `status:1:7: fromJson: there is more text after the JSON value`},
		"fromYaml of no YAML does not quote it":              {`{{ fromYaml "a: b: secret" }}`, `status:1:7: fromYaml: the text is not valid YAML, or is ambiguous`},
		"fromYaml of what is ambiguous":                      {`{{ fromYaml "a: yes" }}`, `status:1:7: fromYaml: the text is not valid YAML, or is ambiguous`},
		"fromYaml of two documents":                          {`{{ fromYaml "a: 1\n---\nb: 1" }}`, `status:1:7: fromYaml: the text has more than one document`},
		"regexMatch of no expression":                        {`{{ regexMatch "(" "a" }}`, `status:1:7: regexMatch: argument 1 is not a regular expression`},
		"a path that is none":                                {`{{ collect "a..b" .spec.list }}`, `status:1:7: collect: argument 1 is not a path such as status.phase or metadata.labels['a.b/c']`},
		"duration of letters":                                {`{{ duration "x" }}`, `status:1:7: duration: argument 1 is text that is not a whole decimal number`},
		"duration overflows":                                 {`{{ duration .spec.big }}`, `status:1:7: duration: argument 1 is longer than 285 years`},
		"durationRound of letters":                           {`{{ durationRound "x" }}`, `status:1:7: durationRound: argument 1 is not a duration such as 2h30m`},
		"durationRound of empty text":                        {`{{ durationRound "9999999h" }}`, `status:1:7: durationRound: argument 1 is not a duration such as 2h30m`},
		"sortBy of lists":                                    {`{{ sortBy "a" (list (dict "a" (list 1)) (dict "a" (list 2))) }}`, `status:1:7: sortBy: the values at the path are lists or maps, which have no order`},
		"a long expression is cut in the message":            {`{{ first (list .spec.missing .spec.missing .spec.missing .spec.missing .spec.missing) }}`, `status:1:7: first (list .spec.missing .spec.missing .spec.missing .spec.… has no value; set it, or use default, required or if`},
		"a value of a chain has no value":                    {`{{ (dict "a" 1).b.c }}`, `status:1:7: (dict "a" 1).b.c has no value; set it, or use default, required or if`},
		"len of a number":                                    {`{{ len 5 }}`, `status:1:7: len: a number has no length`},
		"dnsLabel of no letters":                             {`{{ dnsLabel "___" }}`, `status:1:7: dnsLabel: the text has no letter or digit for a name`},
		"shellQuote of NUL":                                  {`{{ shellQuote "\x00" }}`, `status:1:7: shellQuote: the text has a NUL character, which no shell can pass on`},
		"a name of children that is computed":                {`{{ index .children (print "pot") }}`, `status:1:7: index: no such key; check what the template can read below .children.`},
		"a block that is computed":                           {`{{ include (print "nam") . }}`, `status:1:7: no define block of that name`},
		// Text computed from rendered text.
		"replace in toYaml, indented":   {`{{ toYaml .spec.map | replace "a" "b" | nindent 2 }}`, `status:1:44: nindent: text of several lines that was computed from rendered text cannot be indented; put the text in a define block and indent what include yields`},
		"printf of include, indented":   {`{{ printf "%s\n" (include "map" .) | indent 2 }}`, `status:1:41: indent: text of several lines that was computed from rendered text cannot be indented; put the text in a define block and indent what include yields`},
		"slice of toYaml, indented":     {`{{ slice (toYaml .spec.map) 0 | nindent 2 }}`, `status:1:36: nindent: text of several lines that was computed from rendered text cannot be indented; put the text in a define block and indent what include yields`},
		"splitList of toYaml, indented": {`{{ index (splitList "---" (toYaml .spec.map)) 0 | indent 2 }}`, `status:1:54: indent: text of several lines that was computed from rendered text cannot be indented; put the text in a define block and indent what include yields`},
		// The author's own YAML.
		"an unquoted yes":                         {`yes`, `status:1:4: unquoted yes is a boolean in some versions of YAML; write true or false, or quote it`},
		"an unquoted Off":                         {`Off`, `status:1:4: unquoted Off is a boolean in some versions of YAML; write true or false, or quote it`},
		"an unquoted y":                           {`y`, `status:1:4: unquoted y is a boolean in some versions of YAML; write true or false, or quote it`},
		"an unquoted mode":                        {`0777`, `status:1:4: unquoted 0777 has different meanings in YAML versions; quote it, or write a decimal number`},
		"an unquoted 08":                          {`08`, `status:1:4: unquoted 08 has different meanings in YAML versions; quote it, or write a decimal number`},
		"an unquoted 0o17":                        {`0o17`, `status:1:4: unquoted 0o17 has different meanings in YAML versions; quote it, or write a decimal number`},
		"an unquoted 1_000":                       {`1_000`, `status:1:4: unquoted 1_000 has different meanings in YAML versions; quote it, or write a decimal number`},
		"an unquoted 0b1":                         {`0b1`, `status:1:4: unquoted 0b1 has different meanings in YAML versions; quote it, or write a decimal number`},
		"a number that is too large":              {`1e400`, `status:1:4: the number 1e400 is too large`},
		"an integer that is too large":            {`18446744073709551615`, `status:1:4: an integer does not fit in 64 bits; quote it to make it a string`},
		"hexadecimal that is too large":           {`0xffffffffffffffff`, `status:1:4: the integer 0xffffffffffffffff does not fit in 64 bits`},
		"infinity":                                {`-.inf`, `status:1:4: JSON has no number -.inf; quote it if it is a string`},
		"not a number":                            {`.NaN`, `status:1:4: JSON has no number .NaN; quote it if it is a string`},
		"a binary tag":                            {`!!binary aGk=`, `status:1:4: YAML tags other than !!str are not supported; remove the tag`},
		"an integer tag":                          {`!!int "{{ .spec.s }}"`, `status:1:4: YAML tags other than !!str are not supported; remove the tag`},
		"a tag of one's own":                      {`!x {a: 1}`, `status:1:4: YAML tags other than !!str are not supported; remove the tag`},
		"the tag that means no tag, before a tab": {"!\t5", `status:1:4: YAML tags other than !!str are not supported; remove the tag`},
		"the tag that means no tag":               {`! 5`, `status:1:4: YAML tags other than !!str are not supported; remove the tag`},
		"a key twice":                             {"1\nv: 2", `status:2:1: duplicate key "v"`},
		"a key twice, dropped":                    {"\nv: 2", `status:2:1: duplicate key "v"`},
		"an empty item":                           {"\n- a\n-\n- c", `status:3:2: an item of a list is empty; write null, or remove its dash`},
		"a key in braces":                         {`{ {a: 1}: b }`, `status:1:6: a key must be a string; if this is a value in braces, quote it`},
		"a key that is empty":                     {`{ : b }`, `status:1:6: a key is empty`},
		"text that is no YAML":                    {`a: b`, `status:1:5: the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)`},
		"a tab as indentation":                    {"\n  a: 1\n\tb: 2", `status:3:1: this line is indented with a tab: use spaces (YAML: found a tab character that violates indentation)`},
		"a list that is not closed":               {"[1\nw: 2", `status:1:4: the [ here is not closed, or a comma is missing after an item (YAML: did not find expected ',' or ']')`},
		"an alias of nothing":                     {`*x`, `status:1:4: a value that begins with & or * is a YAML anchor or alias: quote it (YAML: unknown anchor 'x' referenced)`},
		"a directive":                             {"1\n---\n%YAML 1.1\n---\nv: 2", `status:3:1: YAML directives are not supported; remove the line that begins with %`},
		"a merge of text":                         {"\n  <<: x", `status:2:7: << needs a map or a list of maps`},
		"a control character":                     {"\x01", `status: YAML: a character or a tag is not allowed`},
		// Tokens where they do not belong.
		"a value in a tag":                 {`!{{ .spec.s }} x`, `status:1:8: YAML: a value is not allowed here; print it as a scalar or part of a scalar`},
		"a value in a known tag":           {`!!{{ .spec.s }} x`, `status:1:9: YAML: a value is not allowed here; print it as a scalar or part of a scalar`},
		"a value in an anchor":             {`&{{ .spec.s }} x`, `status:1:8: YAML: a value is not allowed here; print it as a scalar or part of a scalar`},
		"a value at the end of an anchor":  {`&a{{ .spec.s }} x`, `status:1:9: YAML: a value is not allowed here; print it as a scalar or part of a scalar`},
		"a value in an alias":              {`*{{ .spec.s }}`, `status:1:8: YAML: a value is not allowed here; print it as a scalar or part of a scalar`},
		"a value in the header of a block": {"|{{ .spec.n }}\n  x", `status:1:8: YAML: a value is not allowed here; print it as a scalar or part of a scalar`},
		"a value in an escape":             {`"\u00{{ .spec.n }}"`, `status:1:7: \ begins an escape between double quotes: write \\ for a backslash, or use single quotes (YAML: did not find expected hexadecimal number)`},
		"a value behind a backslash":       {`"\{{ .spec.s }}"`, `status:1:5: \ begins an escape between double quotes: write \\ for a backslash, or use single quotes (YAML: found unknown escape character)`},
		"a duplicate key from data":        {`{text: 1, {{ .spec.s }}: 2}`, `status:1:17: duplicate key (printed from a value) in .v`},
		"one in a map":                     {`{a: {b: {text: 1, {{ .spec.s }}: 2}}}`, `status:1:25: duplicate key (printed from a value) in .v.a.b`},
		"one below a key from data":        {`{a: {"{{ .spec.s }}": {text: 1, {{ .spec.s }}: 2}}}`, `status:1:39: duplicate key (printed from a value) in .v.a.…`},
		// What is printed does not fit its place.
		"toJson between double quotes":           {`"{{ toJson .spec.map }}"`, `status:1:8: the output of this action contains double quotes, as toJson and quote print them, which end the quotes around it: use single quotes around the action for text, or no quotes for the value itself (YAML: a value is not allowed here; print it as a scalar or part of a scalar)`},
		"toJson of a text between double quotes": {`"{{ toJson .spec.s }}"`, `status:1:8: the output of this action contains double quotes, as toJson and quote print them, which end the quotes around it: use single quotes around the action for text, or no quotes for the value itself (YAML: a value is not allowed here; print it as a scalar or part of a scalar)`},
		"toYaml of an empty map behind a key":    {"\n  a: 1\n  {{- toYaml dict | nindent 2 }}", `status:3:7: {} is between keys here, because toYaml prints empty maps and lists this way: put the action between {{ with … }} and {{ end }} (YAML: could not find expected ':')`},
		"toYaml of an empty map before a key":    {"\n  {{- toYaml dict | nindent 2 }}\n  a: 1", `status:2:7: {} is between keys here, because toYaml prints empty maps and lists this way: put the action between {{ with … }} and {{ end }} (YAML: did not find expected key)`},
		"toYaml of an empty list before a key":   {"\n  {{- toYaml list | nindent 2 }}\n  a: 1", `status:2:7: [] is between keys here, because toYaml prints empty maps and lists this way: put the action between {{ with … }} and {{ end }} (YAML: did not find expected key)`},
		// Several lines that are not indented.
		"toYaml without indentation":      {"\n  a:\n    {{ toYaml .spec.map }}\n  b: 1", `status:4:3: YAML: mapping values are not allowed in this context; the value printed in line 3 of status has several lines without indentation: write {{- … | nindent 4 }}`},
		"toYaml behind a key":             {"\n  a: {{ toYaml .spec.map }}\n  b: 1", `status:2:9: YAML: mapping values are not allowed in this context; the value printed in line 2 of status has several lines without indentation: write {{- … | nindent 4 }}`},
		"toYaml that is indented":         {"\n  a:\n    {{- toYaml .spec.map | nindent 4 }}\n  b: : 1", `status:4:6: the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)`},
		"a line that ends":                {"{{ define \"n\" }}one\n \n{{ end }}\n  a: {{ include \"n\" . }}\n  b: : 1", `status:5:6: the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)`},
		"a line, then lines too far left": {"{{ define \"n\" }}one\n\nc: 1\n{{ end }}\n  a: {{ include \"n\" . }}\n  b: : 1", `status:6:3: YAML: mapping values are not allowed in this context; the value printed in line 5 of status has several lines without indentation: write {{- … | nindent 4 }}`},
		// Several lines that are not indented, and are YAML all the same.
		"a map under a key, its next key elsewhere": {"\n  a:\n    {{ toYaml .spec.map }}", `status:3:8: the value printed here has several lines, and a key or an item in it is not indented enough: write {{- … | nindent 4 }}`},
		"a map as an item":                          {"\n- {{ toYaml .spec.map }}", `status:2:6: the value printed here has several lines, and a key or an item in it is not indented enough: write {{- … | nindent 2 }}`},
		"a map in a list under a key":               {"\n  a:\n  - {{ toYaml .spec.map }}", `status:3:8: the value printed here has several lines, and a key or an item in it is not indented enough: write {{- … | nindent 4 }}`},
		"a map in a text":                           {"\n  a: |\n    {{ toYaml .spec.map }}", `status:3:8: the value printed here has several lines, and a key or an item in it is not indented enough: write {{- … | nindent 4 }}`},
		"a map in a comment":                        {"x # {{ toYaml .spec.map }}", `status:1:11: the value printed here has several lines, and the # before it comments out only the first one; to comment an action out, write {{/* … */}}`},
		"a map that include prints":                 {"{{ define \"m\" }}c: 1\n{{ toYaml .spec.map }}\n{{ end }}\n  a:\n    {{ include \"m\" . }}", `status:5:8: the value printed here has several lines, and a key or an item in it is not indented enough: write {{- … | nindent 4 }}`},
		"a list in a list":                          {"\n- {{ toYaml .spec.list }}", `status:2:6: the value printed here has several lines, and a key or an item in it is not indented enough: write {{- … | nindent 2 }}`},
		// What the author says.
		"fail":                   {`{{ fail (printf "no %s" .spec.s) }}`, `status:1:7: no text`},
		"required":               {`{{ required "set spec.a" .spec.a }}`, `status:1:7: set spec.a`},
		"required of empty text": {`{{ .spec.empty | required "set it" }}`, `status:1:21: set it`},
		"wait":                   {`{{ wait "not yet" }}`, `status:1:7: not yet`},
		// A status is one map.
		"two documents": {"1\n---\nw: 2", `status:3:1: the status template must render a single YAML document: remove everything after ---`},
	} {
		t.Run(why, func(t *testing.T) {
			got, err := renderValue(t, c.text)
			if err == nil || err.Error() != c.want {
				t.Errorf("v: %s\ngot  %v (%s)\nwant %s", c.text, err, got, c.want)
			}
		})
	}
}

// TestErrorMessagesAreTruncated has messages that are long because the author's text or what the author has fail say is.
func TestErrorMessagesAreTruncated(t *testing.T) {
	long := strings.Repeat("é\n", 100_000)
	for _, text := range []string{
		"{{ fail .spec.long }}", "{{ wait .spec.long }}", "{{ required .spec.long nil }}", "a: 1\n" + strings.Repeat("é", 500) + ": 2\n'" + strings.Repeat("é", 5000) + "': 2\n'" + strings.Repeat("é", 5000) + "': 2",
		"{{ include (print .spec.long) . }}", "{{ .spec." + strings.Repeat("é", 5000) + " }}", "a: *" + strings.Repeat("b", 5000), "{{ $" + strings.Repeat("é", 5000) + " }}",
		"{{ ." + strings.Repeat("é", 5000) + " }}", `{{ template "` + strings.Repeat("é", 5000) + `" }}`,
	} {
		p, err := Compile(Source{Status: text})
		if err == nil {
			_, err = p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"long": long}}})
		}
		e, ok := errors.AsType[*syntax.Error](err)
		if !ok {
			t.Errorf("%.40s: got %v", text, err)
			continue
		}
		if n := utf8.RuneCountInString(e.Message); n > 1024 || !utf8.ValidString(e.Message) || strings.Contains(e.Message, "\n") {
			t.Errorf("%.40s: %d characters: %.100q", text, n, e.Message)
		}
		if strings.Contains(text, ".spec.long") && e.Reason != syntax.Invalid && (!strings.HasPrefix(e.Message, "é é é") || !strings.HasSuffix(e.Message, "é…")) {
			t.Errorf("%s: got %.50q", text, e.Message)
		}
	}
}

// TestErrorReasons tells the kinds of errors apart.
func TestErrorReasons(t *testing.T) {
	for text, want := range map[string]syntax.Reason{
		`{{ fail "x" }}`:                 syntax.Fail,
		`{{ required "x" nil }}`:         syntax.Fail,
		`{{ wait "x" }}`:                 syntax.Wait,
		`{{ if wait "x" }}{{ end }}`:     syntax.Wait,
		`{{ upper .spec.missing }}`:      syntax.Invalid,
		`{{ fail .spec.missing }}`:       syntax.Invalid,
		`{{ repeat 999999999 "a" }}`:     syntax.Budget,
		`{{ range 999999999 }}{{ end }}`: syntax.Budget,
		`a: b: c`:                        syntax.Invalid,
	} {
		_, err := renderValue(t, text)
		e, ok := errors.AsType[*syntax.Error](err)
		if !ok || e.Reason != want {
			t.Errorf("%s: got %v, want reason %s", text, err, want)
		}
	}
}

// TestErrorsUnwrap lets errors.As find a finding.
func TestErrorsUnwrap(t *testing.T) {
	_, err := Compile(Source{Status: "{{ foo }}"})
	if e, ok := errors.AsType[*syntax.Error](err); !ok || e.Line != 1 {
		t.Errorf("got %v", err)
	}
}
