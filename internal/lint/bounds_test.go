package lint

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// size is that of the templates that are to be checked in 100 ms and 64 MiB.
const size = 256 << 10

// fill repeats a text up to that size.
func fill(n int, each func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(each(i))
	}
	return b.String()
}

func same(text string) func(int) string { return func(int) string { return text } }

// worst are templates that cost much to check, by what is much in them.
func worst() map[string]string {
	return map[string]string{
		"text":                fill(size, same("a: b\n")),
		"one line":            strings.Repeat("a", size),
		"values":              fill(size, same("{{ .spec.replicas }}\n")),
		"unknown fields":      fill(size, same("{{ .spec.replcas }}\n")),
		"unknown functions":   fill(size, func(i int) string { return fmt.Sprintf("{{ fun%d 1 }}\n", i) }),
		"deep paths":          "{{ ." + fill(size-10, same("a.")) + "b }}",
		"known deep paths":    fill(size, same("{{ .spec.template.spec.containers.image.x.y }}")),
		"open blocks":         fill(size, same("{{ if .spec }}\n")),
		"open blocks and one": fill(size, same("{{ if .spec }}{{ end }}\n")) + strings.Repeat("{{ if .spec }}\n", 9),
		"deep blocks":         strings.Repeat("{{ if .spec }}", 150) + fill(size-8000, same("{{ .x }}")) + strings.Repeat("{{ end }}", 150),
		"deep parentheses":    fill(size, same("{{ "+strings.Repeat("(", 150)+".spec"+strings.Repeat(")", 150)+" }}")),
		"long pipes":          "{{ .spec" + fill(size-10, same("|quote")) + " }}",
		"variables":           fill(size, func(i int) string { return fmt.Sprintf("{{ $a%d := .spec }}{{ $a%d.x }}\n", i, i) }),
		"one variable":        "{{ $a := .spec }}" + fill(size, same("{{ $a = $a.template }}")),
		"definitions":         fill(size, func(i int) string { return fmt.Sprintf("{{ define \"d%d\" }}{{ .x }}{{ end }}", i) }),
		"calls":               chain(2000),
		"doubling calls":      doubling(1500),
		"a wide dict":         "{{ $d := dict" + fill(size-20, func(i int) string { return fmt.Sprintf(" \"k%d\" 1", i) }) + " }}{{ $d.k }}",
		"growing dicts":       "{{ $d := dict }}" + fill(size, func(i int) string { return fmt.Sprintf("{{ $d = set $d \"k%d\" $d }}", i) }),
		"nested dicts":        fill(size, same("{{ "+strings.Repeat("dict \"a\" (", 100)+"1"+strings.Repeat(")", 100)+" }}")),
		"branches":            "{{ $v := 1 }}" + fill(size, func(i int) string { return fmt.Sprintf("{{ if .spec }}{{ $v = dict \"k%d\" $v }}{{ end }}", i) }),
		"ranges":              strings.Repeat("{{ range .spec.template.spec.containers }}", 150) + fill(size-10000, same("{{ .image }}")) + strings.Repeat("{{ end }}", 150),
		"YAML lists":          fill(size, same("- ")),
		"YAML braces":         fill(size, same("{a: ")),
		"YAML indentation":    nestedYAML(700),
		"YAML anchors":        "a: &a [x,x,x,x,x,x,x,x,x]\n" + fill(size, func(i int) string { return fmt.Sprintf("b%d: [*a,*a,*a,*a]\n", i) }),
		"fields of the child": "apiVersion: apps/v1\nkind: Deployment\nspec:\n" + fill(size, func(i int) string { return fmt.Sprintf("  field%d: x\n", i) }),
	}
}

func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{{ define \"d%d\" }}{{ template \"d%d\" (dict \"a\" .) }}{{ include \"d%d\" . }}{{ end }}", i, i+1, i+1)
	}
	return b.String() + fmt.Sprintf("{{ define \"d%d\" }}{{ .x }}{{ end }}{{ include \"d0\" .spec }}", n)
}

func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{{ define \"d%d\" }}{{ $a := dict \"a\" . \"b\" . }}{{ template \"d%d\" $a }}{{ include \"d%d\" (list $a .) }}{{ end }}", i, i+1, i+1)
	}
	return b.String() + fmt.Sprintf("{{ define \"d%d\" }}{{ .x }}{{ end }}{{ include \"d0\" . }}", n)
}

func nestedYAML(deep int) string {
	var b strings.Builder
	for i := range deep {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// controllerWith returns a TemplateController with that text as the template of a child, or as helpers.
func controllerWith(in, text string) string {
	indented := func(by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) + "\n" }
	head := "apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {name: a}\nspec:\n  watch: {apiVersion: apps/v1, kind: Deployment}\n"
	if in == "helpers" {
		return head + "  helpers: |\n" + indented("    ")
	}
	return head + "  children:\n  - name: a\n    template: |\n" + indented("      ")
}

// TestCheckTimeAndMemoryAreBounded checks templates of 256 KiB. On a quiet machine none takes more than 100 ms; here that is an error which takes
// ten times as long, because it grows faster than the text.
func TestCheckTimeAndMemoryAreBounded(t *testing.T) {
	known, err := Know()
	if err != nil {
		t.Fatal(err)
	}
	for why, text := range worst() {
		for _, in := range []string{"child", "helpers"} {
			set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader(controllerWith(in, text)))
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := cpuTime(t)
			all, _ := known.Check(set)
			took := cpuTime(t) - begun
			runtime.ReadMemStats(&after)
			const most = 64 << 20
			bytesUsed := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s in %s: %v, %d KiB, %d findings", why, in, took.Round(time.Millisecond), bytesUsed>>10, len(all))
			if bytesUsed > most || took > time.Second {
				t.Errorf("%s in %s: %d MiB were allocated, and it took %v of a processor", why, in, bytesUsed>>20, took)
			}
		}
	}
}
