package render

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// exhausting are templates that would hang or fill the operator if nothing
// stopped them. Each must end in an error that says which limit it met, within 64 MiB; BenchmarkExhaustion
// measures how soon.
var exhausting = map[string]string{
	"a range that writes nothing never returns":     `{{ range 1000000000000 }}{{ end }}`,
	"nested ranges multiply":                        `{{ range 10000 }}{{ range 10000 }}{{ end }}{{ end }}`,
	"a range that writes fills memory":              `{{ range 1000000000000 }}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{{ end }}`,
	"a range of a break panics in text/template":    `{{ range 1000000000000 }}{{ range 2 }}{{ break }}{{ end }}{{ end }}`,
	"conditions cost, too":                          `{{ range 1000000000000 }}{{ if eq . 5 }}{{ end }}{{ end }}`,
	"repeat makes 286 MB":                           `{{ repeat 300000000 "a" | len }}`,
	"repeat overflows":                              `{{ repeat 4611686018427387904 "aaaa" | len }}`,
	"until makes 0.9 GB":                            `{{ until 20000000 | len }}`,
	"untilStep":                                     `{{ untilStep 0 2000000000 1 | len }}`,
	"untilStep overflows":                           `{{ untilStep -9000000000000000000 9000000000000000000 1 | len }}`,
	"seq":                                           `{{ seq 20000000 | len }}`,
	"seq overflows":                                 `{{ seq 1 9223372036854775807 | len }}`,
	"recursion in template, 100000 levels":          `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
	"recursion in include":                          `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`,
	"include calls doubled at each level":           `{{ define "a" }}{{ if lt (len .) 60 }}{{ include "a" (append . 1) }}{{ include "a" (append . 1) }}{{ end }}{{ end }}{{ include "a" (list) }}`,
	"print doubles, 28 times make 1.4 GB":           `{{ $s := "aaaaa" }}{{ range 40 }}{{ $s = print $s $s }}{{ end }}`,
	"printf doubles":                                `{{ $s := "aaaaa" }}{{ range 40 }}{{ $s = printf "%s%s" $s $s }}{{ end }}`,
	"cat doubles":                                   `{{ $s := "aaaaa" }}{{ range 40 }}{{ $s = cat $s $s }}{{ end }}`,
	"join doubles":                                  `{{ $s := "aaaaa" }}{{ range 40 }}{{ $s = join $s (list $s $s) }}{{ end }}`,
	"replace multiplies":                            `{{ $s := "aaaaa" }}{{ range 40 }}{{ $s = replace "a" "aa" $s }}{{ end }}`,
	"replace of nothing":                            `{{ $s := "aaaaa" }}{{ range 40 }}{{ $s = replace "" $s $s }}{{ end }}`,
	"quote doubles backslashes":                     `{{ $s := "\\\\" }}{{ range 40 }}{{ $s = quote $s | print }}{{ end }}`,
	"b64enc grows":                                  `{{ $s := repeat 1000000 "a" }}{{ range 100 }}{{ $s = b64enc $s }}{{ end }}`,
	"include doubles rendered text":                 `{{ define "t" }}{{ . }}{{ . }}{{ end }}{{ $s := include "t" "aaaa" }}{{ range 40 }}{{ $s = include "t" $s }}{{ end }}`,
	"a variable keeps rendered text":                `{{ define "t" }}{{ range 100 }}{{ $ }}{{ end }}{{ end }}{{ $s := include "t" (repeat 1000000 "a") }}{{ len $s }}`,
	"indent by a million":                           `{{ indent 1000000 "a" | len }}`,
	"nindent by a million":                          `{{ nindent 1000000 (toYaml (list 1 2 3)) | len }}`,
	"indent on many lines":                          `{{ $s := toYaml (until 20000) }}{{ range 100 }}{{ $s = indent 1000 $s }}{{ end }}`,
	"printf of a huge width":                        `{{ printf "%1000000000d" 1 | len }}`,
	"printf of a large width, often":                `{{ range 1000000 }}{{ $s := printf "%999d" 1 }}{{ end }}`,
	"printf with a width from an argument":          `{{ printf "%*d" 1000000000 1 | len }}`,
	"printf of a huge precision":                    `{{ printf "%.1000000000f" 1.0 | len }}`,
	"printf quotes":                                 `{{ $s := "\u0001" }}{{ range 40 }}{{ $s = printf "%q%x" $s $s }}{{ end }}`,
	"wrap at every character":                       `{{ $s := repeat 100000 "a" }}{{ wrapWith 1 $s $s | len }}`,
	"wrap of a long text":                           `{{ $s := repeat 1000000 "a b " }}{{ range 100 }}{{ $s = wrap 1 $s }}{{ end }}`,
	"split makes many parts":                        `{{ $s := repeat 1000000 "a," }}{{ range 100 }}{{ $x := splitList "," $s }}{{ end }}`,
	"split makes a map":                             `{{ $s := repeat 1000000 "a," }}{{ split "," $s | len }}`,
	"splitn":                                        `{{ $s := repeat 1000000 "a," }}{{ splitn "," 900000 $s | len }}`,
	"trimAll takes the product of its lengths":      `{{ $s := repeat 1000000 "é" }}{{ trimAll (repeat 100000 "aé") $s | len }}`,
	"concat doubles":                                `{{ $l := list 1 2 3 }}{{ range 40 }}{{ $l = concat $l $l }}{{ end }}`,
	"append in a loop is quadratic":                 `{{ $l := list }}{{ range 1000000 }}{{ $l = append $l . }}{{ end }}`,
	"set in a loop is quadratic":                    `{{ $d := dict }}{{ range 1000000 }}{{ $d = set $d (toString .) . }}{{ end }}`,
	"uniq is quadratic":                             `{{ until 100000 | uniq | len }}`,
	"without is quadratic":                          `{{ $l := until 100000 }}{{ range 1000000 }}{{ $x := without $l . }}{{ end }}`,
	"has in a loop":                                 `{{ $l := until 100000 }}{{ range 1000000 }}{{ $x := has -1 $l }}{{ end }}`,
	"len of rendered text in a loop":                `{{ define "t" }}{{ range 10000 }}{{ "" }}{{ end }}{{ end }}{{ $r := include "t" 1 }}{{ range 1000000 }}{{ if $r }}{{ end }}{{ end }}`,
	"truth of an encoded text in a loop":            `{{ $r := toYaml (repeat 1000000 "\n") }}{{ range 1000000 }}{{ if $r }}{{ end }}{{ end }}`,
	"chunk":                                         `{{ $l := until 100000 }}{{ range 1000 }}{{ $x := chunk 1 $l }}{{ end }}`,
	"reverse and rest":                              `{{ $l := until 100000 }}{{ range 1000000 }}{{ $l = reverse $l }}{{ end }}`,
	"keys and values":                               `{{ $d := split "," (repeat 10000 "a,") }}{{ range 1000000 }}{{ $x := keys $d }}{{ $y := values $d }}{{ end }}`,
	"range over a large map sorts it":               `{{ $d := split "," (repeat 10000 "a,") }}{{ range 1000000 }}{{ range $d }}{{ break }}{{ end }}{{ end }}`,
	"lists of lists double when printed":            `{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`,
	"lists of lists double as YAML":                 `{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toYaml $l }}`,
	"lists of lists double as JSON":                 `{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toPrettyJson $l }}`,
	"lists of lists double when compared":           `{{ $l := list 1 }}{{ $m := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ $m = list $m $m }}{{ end }}{{ deepEqual $l $m }}`,
	"maps of maps double when merged":               `{{ $l := dict "a" 1 }}{{ range 60 }}{{ $l = dict "a" $l "b" $l }}{{ end }}{{ $x := merge $l $l }}{{ toJson $x }}`,
	"a list nested very deeply":                     `{{ $l := list }}{{ range 100000 }}{{ $l = list $l }}{{ end }}{{ toJson $l }}`,
	"a list nested very deeply, compared":           `{{ $l := list }}{{ $m := list }}{{ range 50000 }}{{ $l = list $l }}{{ $m = list $m }}{{ end }}{{ deepEqual $l $m }}`,
	"toYaml of a list in a loop":                    `{{ $l := until 10000 }}{{ range 1000000 }}{{ $x := toYaml $l }}{{ end }}`,
	"toPrettyJson indents":                          `{{ $l := until 100000 }}{{ range 90 }}{{ $l = list $l }}{{ end }}{{ toPrettyJson $l }}`,
	"fromYaml of a list in a loop":                  `{{ $s := toYaml (until 10000) }}{{ range 1000000 }}{{ $x := fromYaml $s }}{{ end }}`,
	"fromJson of a list in a loop":                  `{{ $s := print (toJson (until 10000)) }}{{ range 1000000 }}{{ $x := fromJson $s }}{{ end }}`,
	"fromYaml with billion-laughs aliases":          `{{ $x := fromYaml .spec.laughs }}{{ toJson $x }}`,
	"fromYaml of brackets":                          `{{ $x := fromYaml (repeat 100000 "[") }}`,
	"fromJson of brackets":                          `{{ $x := fromJson (repeat 100000 "[") }}`,
	"fromYaml of dashes":                            `{{ $x := fromYaml (repeat 50000 "- ") }}`,
	"fromYaml of commas":                            `{{ $x := fromYaml (print "[" (repeat 1000000 "a,") "]") }}`,
	"billion-laughs aliases in the output":          "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e]\n",
	"an alias within itself":                        "a: &a [*a]\n",
	"a large token printed often":                   `{{ $s := repeat 1000000 "a" }}{{ range 10000 }}- {{ $s }}` + "\n" + `{{ end }}`,
	"a large token as an alias":                     `{{ $s := repeat 1000000 "a" }}a: &a {{ $s }}` + "\nb: [" + strings.Repeat("*a, ", 200) + "]\n",
	"a token of many lines, indented":               `{{ $s := repeat 1000000 "\n" }}a: |` + "\n  x\n" + strings.Repeat(" ", 500) + `{{ $s }}`,
	"a token that grows when escaped":               `{{ $s := repeat 1000000 "\u0001" }}a: |` + "\n" + `  {{ range 10 }}{{ quote $s }}{{ end }}`,
	"many documents":                                `{{ range 100000 }}---` + "\napiVersion: v1\nkind: A\n{{ end }}",
	"many small documents":                          "{{ range 2500 }}---\napiVersion: v1\nkind: A\n{{ end }}",
	"many values":                                   `a: [{{ range 200000 }}1,{{ end }}]`,
	"many values of little text":                    "a: [{{ range 8000 }}" + strings.Repeat("1,", 100) + "{{ end }}]",
	"maps in braces without values":                 "a: [{{ range 2000 }}" + strings.Repeat("{a},", 100) + "{{ end }}]",
	"the most that is parsed":                       "a: [{{ range 999 }}" + strings.Repeat("1,", 100) + "{{ end }}]",
	"the most that is parsed, maps":                 "a: [{{ range 332 }}" + strings.Repeat("{a},", 100) + "{{ end }}]",
	"a long flow line with tags":                    "a: [{{ range 1000 }}" + strings.Repeat("! a,", 100) + "{{ end }}]",
	"an expression that compiles to something huge": `{{ regexMatch "(a{1000}){1000}" "a" }}`,
	"an expression of nested counts":                `{{ regexMatch "((((a{30}){30}){30}){30})" "a" }}`,
	"a large expression on a long text":             `{{ $s := repeat 100000 "a" }}{{ regexMatch "(x+x+x+x+)+y{500}|(a?){500}b" $s }}`,
	"an expression per character":                   `{{ $s := repeat 1000000 "a" }}{{ range 100 }}{{ $x := regexFindAll "a" $s -1 }}{{ end }}`,
	"a replacement of many groups":                  `{{ $s := repeat 100000 "a" }}{{ regexReplaceAll "a+" $s (repeat 100000 "$0") | len }}`,
	"many expressions":                              `{{ range 1000000 }}{{ $x := regexMatch (printf "a{900}%d" .) "b" }}{{ end }}`,
	"mulf of large numbers":                         `{{ range 1000000 }}{{ $x := mulf 1e300 1e-300 1e300 1e-300 1.23456789 }}{{ end }}`,
	"divf of extreme numbers":                       `{{ range 1000000 }}{{ $x := divf 1e-300 3e300 }}{{ end }}`,
	"semverCompare of a long constraint":            `{{ semverCompare (repeat 10000 ">1.0.0,") "1.2.3" }}`,
	"snakecase of a long text":                      `{{ $s := repeat 3000000 "aB" }}{{ snakecase $s | len }}`,
	"dnsLabel of a long text":                       `{{ range 1000 }}{{ dnsLabel (repeat 100000 "a") }}{{ end }}`,
	"sha512sum of a long text":                      `{{ $s := repeat 1000000 "a" }}{{ range 10000 }}{{ $x := sha512sum $s }}{{ end }}`,
	"sortAlpha in a loop":                           `{{ $l := until 50000 }}{{ range 1000 }}{{ $x := sortAlpha $l }}{{ end }}`,
	"sortBy in a loop":                              `{{ $l := list }}{{ range 300 }}{{ $l = append $l (dict "a" .) }}{{ end }}{{ range 100000 }}{{ $x := sortBy "a" $l }}{{ end }}`,
	"collect along a long path":                     `{{ $l := list (dict) }}{{ range 1000000 }}{{ $x := collect (repeat 10000 "a.b") $l }}{{ end }}`,
	"comparing long texts":                          `{{ $a := repeat 1000000 "a" }}{{ $b := print $a "" }}{{ range 1000000 }}{{ $x := eq $a $b }}{{ end }}`,
	"contains in a loop":                            `{{ $a := repeat 1000000 "a" }}{{ range 1000000 }}{{ $x := contains "b" $a }}{{ end }}`,
	"billion-laughs merge keys":                     `{{ fromYaml .spec.merges }}`,
	"billion-laughs merge keys in the output":       "x: 1\n" + laughingMerges,
	"an alias within itself, merged":                "a: {<<: &a [*a, *a]}\n",
	"dropped keys, again for each alias":            "a: &a { {{- range 3000 }}k{{ . }}:,{{ end }}}\nb: [{{ range 9000 }}*a,{{ end }}]\n",
	"fromYaml of little in a loop":                  `{{ range 1000000 }}{{ $x := fromYaml "a" }}{{ end }}`,
	"fromJson of little in a loop":                  `{{ range 1000000 }}{{ $x := fromJson "1" }}{{ end }}`,
	"versions in a loop":                            `{{ range 1000000 }}{{ $x := semver "1.2.3" }}{{ $y := semverCompare "1" "1" }}{{ end }}`,
	"fromJson of numbers":                           `{{ range 100 }}{{ $x := fromJson (print "[" (repeat 490000 "1,") "1]") }}{{ end }}`,
	"fromJson of maps":                              `{{ range 100 }}{{ $x := fromJson (print "[" (repeat 330000 "{},") "1]") }}{{ end }}`,
	"fromJson of lists":                             `{{ range 100 }}{{ $x := fromJson (print "[" (repeat 330000 "[],") "1]") }}{{ end }}`,
	"fromJson of maps of one":                       `{{ range 100 }}{{ $x := fromJson (print "[" (repeat 120000 "{\"\":1},") "1]") }}{{ end }}`,
	"fromYaml of quotes":                            `{{ fromYaml (print "[" (repeat 1000000 "'' ")) }}`,
	"fromYaml of adjacent quotes":                   `{{ fromYaml (print "[" (repeat 500000 "''\"\"")) }}`,
	"fromYaml of aliases":                           `{{ fromYaml (repeat 500000 "*a ") }}`,
	"fromYaml of tags":                              `{{ fromYaml (repeat 1000000 "! ") }}`,
	"fromYaml of comments on Unicode's lines":       `{{ fromYaml (repeat 500000 "#\u2028") }}`,
	"fromYaml of a map on one line":                 `{{ fromYaml (print "{" (repeat 20000 "a: 1,") "}") }}`,
	"a block scalar far from its anchor, often":     "a: &a" + strings.Repeat(" ", 300000) + "|\n  {{ \"\" }}\nb: [{{ range 9000 }}*a,{{ end }}]\n",
	"a scalar of empty tokens, often":               "a: &a x{{ range 20000 }}{{ \"\" }}{{ end }}\nb: [{{ range 9000 }}*a,{{ end }}]\n",
	"empty tokens, expanded often":                  `{{ define "t" }}{{ range 10000 }}{{ "" }}{{ end }}{{ end }}{{ $r := include "t" 1 }}{{ range 1000000 }}{{ $x := upper $r }}{{ end }}`,
	"trim of rendered spaces in a loop":             `{{ define "t" }}` + strings.Repeat(" ", 400000) + `{{ end }}{{ $r := include "t" 1 }}{{ range 1000000 }}{{ $x := trim $r }}{{ end }}`,
	"a path of millions of keys":                    `{{ $l := list (dict) }}{{ $x := collect (repeat 2500000 "a.") $l }}`,
	"many arguments in a loop":                      `{{ range 1000000 }}{{ $x := eq 1 ` + strings.Repeat("2 ", 200000) + `}}{{ end }}`,
	"many arguments of or in a loop":                `{{ range 1000000 }}{{ $x := or ` + strings.Repeat("0 ", 200000) + `}}{{ end }}`,
	"many fields in a loop":                         `{{ range 1000000 }}{{ $x := $.spec` + strings.Repeat(".a", 200000) + ` }}{{ end }}`,
	"matches that look far ahead":                   `{{ regexFindAll "a[^b]*b|a" (repeat 100000 "a") -1 | len }}`,
	"replacements that look far ahead":              `{{ regexReplaceAll "a(.*b)?" (repeat 100000 "a") "" | len }}`,
	"an expression with a long optional part":       `{{ regexSplit "a(a{1000}b)?" (repeat 100000 "a") -1 | len }}`,
	"an expression of some size on a long text":     `{{ regexMatch "(a?){60}b" (repeat 500000 "a") }}`,
	"a small expression on a long text":             `{{ $s := repeat 3000000 "a" }}{{ regexMatch "(a|aa|aaa)*b$" $s }}`,
	"matches of every character":                    `{{ regexSplit "a" (repeat 300000 "a") -1 | len }}`,
	"expressions of Unicode's classes":              `{{ range 1000000 }}{{ $x := regexMatch (printf "%s%d" (repeat 300 "\\pL") .) "b" }}{{ end }}`,
	"expressions of wide ranges in any case":        `{{ range 1000000 }}{{ $x := regexMatch (printf "(?i)%s%d" (repeat 50 "[b-\\x{1e900}]") .) "b" }}{{ end }}`,
	"many variables make looking them up slow":      strings.Repeat("{{ $x := 1 }}", 10000) + `{{ $y := $ }}{{ range 1000000 }}{{ $z := $ }}{{ end }}`,
}

// laughs is YAML of a user whose aliases would expand to 10^9 values.
const laughs = `a: &a [x,x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]
`

// laughingMerges does so where no value is made of each alias.
const laughingMerges = `<<: [&a [[],[],[],[],[],[],[],[],[],[]], &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b],
  &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d], &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e],
  &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f], &h [*g,*g,*g,*g,*g,*g,*g,*g,*g,*g], &i [*h,*h,*h,*h,*h,*h,*h,*h,*h,*h]]
`

// TestReadyCallsAreCharged asks often about an object with many conditions; the
// answer takes time that the renderer cannot see.
func TestReadyCallsAreCharged(t *testing.T) {
	p, err := Compile(Source{Status: `{{ range 1000000 }}{{ $x := ready $.spec }}{{ end }}`})
	if err != nil {
		t.Fatal(err)
	}
	conditions := slices.Repeat([]any{map[string]any{"type": "A", "status": "True"}}, 50)
	asked := 0
	_, err = p.Status(&Input{
		Parent: map[string]any{"spec": map[string]any{"status": map[string]any{"conditions": conditions}}},
		Ready:  func(map[string]any) bool { asked++; return true },
	})
	if err == nil || asked > 2000 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// limits say what stops those templates of exhausting that are not stopped by budget.ErrWork.
var limits = map[string][]string{
	`the template renders more than 4 MiB; split it, or render less`: {
		"a range that writes fills memory",
		"a large token printed often",
		"include doubles rendered text",
		"a large token as an alias",
	},
	`the template renders more than 100000 values; split it, or render less`: {
		"fromYaml with billion-laughs aliases",
		"billion-laughs aliases in the output",
		"billion-laughs merge keys",
		"billion-laughs merge keys in the output",
	},
	`include calls are nested more than 64 levels deep`: {
		"recursion in template, 100000 levels",
		"recursion in include",
	},
	`printf: a width in the format is greater than 1000`: {
		"printf of a huge width",
		"printf of a huge precision",
	},
	`data is nested more than 100 levels deep`: {
		"an alias within itself",
		"an alias within itself, merged",
		"a list nested very deeply",
		"a list nested very deeply, compared",
	},
	`regexMatch: argument 1 is not a regular expression`: {
		"an expression that compiles to something huge",
		"an expression of nested counts",
	},
	`indent: argument 1 must be from 0 to 1000`: {
		"indent by a million",
	},
	`nindent: argument 1 must be from 0 to 1000`: {
		"nindent by a million",
	},
	`printf: the format has a directive that is not supported; write %[flags][width][.precision] and one of the letters v s q d x X f F g G e E t c b o U, without * and [1]`: {
		"printf with a width from an argument",
	},
	`fromJson: the text is not valid JSON, or is ambiguous`: {
		"fromJson of brackets",
	},
	`fromYaml: the text is not valid YAML, or is ambiguous`: {
		"fromYaml of dashes",
	},
	`the template renders more than 2000 objects`: {
		"many small documents",
	},
	`regexMatch: the expression is too large; use smaller repetition counts`: {
		"a large expression on a long text",
	},
	`semverCompare: an argument is too long`: {
		"semverCompare of a long constraint",
	},
	`regexSplit: the expression is too large; use smaller repetition counts`: {
		"an expression with a long optional part",
	},
}

func TestExhaustingTemplatesAreStopped(t *testing.T) {
	wanted := map[string]string{}
	for message, all := range limits {
		for _, why := range all {
			wanted[why] = message
		}
	}
	in := &Input{Parent: map[string]any{"spec": map[string]any{"laughs": laughs, "merges": laughingMerges}}}
	for why, text := range exhausting {
		t.Run(why, func(t *testing.T) {
			p, err := Compile(Source{Children: []syntax.Template{{Name: "x", Text: text}}})
			if err != nil {
				t.Fatal(err)
			}
			from := &source{most: budget.MaxBytes}
			in := *in
			in.Budget = from.budget()
			bytes := allocated(func() { _, err = p.Child("x", &in) })
			e, ok := errors.AsType[*syntax.Error](err)
			if want := cmp.Or(wanted[why], budget.ErrWork.Error()); !ok || e.Message != want {
				t.Errorf("error is %v, want %s", err, want)
			}
			t.Logf("%6.1f MiB of %5.1f, %s: %v", float64(bytes)/(1<<20), float64(from.all())/(1<<20), why, err)
			if bytes > from.all() || from.all() > budget.MaxBytes {
				t.Errorf("allocated %d KiB, %d are granted", bytes>>10, from.all()>>10)
			}
		})
	}
}

// allocated returns how many bytes do allocates in total.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestEachCallIsCharged compares what is left after a call with and without it.
func TestEachCallIsCharged(t *testing.T) {
	left := func(text string) budget.Meter {
		t.Helper()
		p := programOf(t, text)
		x := p.start(p.children["x"], &Input{Parent: map[string]any{"spec": map[string]any{"s": "text"}}})
		if err := x.invoke("", &x.view.Root); err != nil {
			t.Fatal(err)
		}
		return x.Meter
	}
	const costCall = 100
	for with, without := range map[string]string{
		`{{ $x := not true }}`:                               `{{ $x := true }}`,
		`{{ $x := true | not }}`:                             `{{ $x := true }}`,
		`{{ $x := (not (not true)) }}`:                       `{{ $x := (not true) }}`,
		`{{ $x := include "a" 1 }}{{ define "a" }}{{ end }}`: `{{ $x := 1 }}{{ define "a" }}{{ end }}`,
	} {
		if paid := left(without).Work - left(with).Work; paid < costCall {
			t.Errorf("%s: pays %d more than %s, want at least %d", with, paid, without, costCall)
		}
	}
}

// TestScalarsCountAsOutput fills objects with scalars of every sort. Each must be
// taken from the output that is left, with all its characters, once for each
// time that it is there.
func TestScalarsCountAsOutput(t *testing.T) {
	long := strings.Repeat("l", 1000)
	const head = "apiVersion: v1\nkind: A\n"
	for why, text := range map[string]string{
		"the author's, plain":             "a: " + long,
		"the author's, in quotes":         "a: '" + long + "'",
		"the author's, in a block":        "a: |\n  " + long + "\n",
		"a value":                         "a: {{ .spec.long }}",
		"a value in quotes":               "a: '{{ .spec.long }}'",
		"a value beside text":             "a: b{{ .spec.long }}",
		"a value in a block":              "a: |\n  {{ .spec.long }}\n",
		"a value as a key":                "{{ .spec.long }}: 1",
		"a value beside text, as a key":   "b{{ .spec.long }}: 1",
		"toYaml":                          "a: {{ toYaml .spec.long }}",
		"quote":                           "a: {{ quote .spec.long }}",
		"an alias, besides what it means": "b: &a b\na: [*a, {{ .spec.long }}]",
	} {
		p := programOf(t, head+text)
		x := p.start(p.children["x"], &Input{Parent: map[string]any{"spec": map[string]any{"long": long}}})
		if err := x.invoke("", &x.view.Root); err != nil {
			t.Fatal(err)
		}
		before := x.Output
		if err := x.unit.shapes.Read(&x.Table, x.out.buf, func(d document.Document) error { _, err := d.Object(); return err }); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if paid := before - x.Output; paid < len(long) || paid > len(long)+100 {
			t.Errorf("%s: %d characters are paid for, want about %d", why, paid, len(long))
		}
	}
	p := programOf(t, head+"a: &a '{{ .spec.long }}'\nb: ["+strings.Repeat("*a, ", 500)+"]")
	_, err := p.Child("x", &Input{Parent: map[string]any{"spec": map[string]any{"long": strings.Repeat("l", 10_000)}}})
	if e, ok := errors.AsType[*syntax.Error](err); !ok || e.Message != budget.ErrOutput.Error() {
		t.Errorf("500 aliases of 10000 characters: %v", err)
	}
}
