//go:build !race

package spec

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

// TestSizeBoundsMemoryOfSpec compares the estimate with the memory of decoded and compiled specs.
func TestSizeBoundsMemoryOfSpec(t *testing.T) {
	const length = 70_000
	repeated := func(text string) string { return strings.Repeat(text, length/len(text)) }
	numbered := func(format string) string {
		var all strings.Builder
		for i := 0; all.Len() < length; i++ {
			fmt.Fprintf(&all, format, i)
		}
		return all.String()
	}
	const mostLabels = 990 // approximate maximum for a selector
	first := func(n int, format string) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, format, i)
		}
		return all.String()
	}
	for name, c := range map[string]struct{ values, template, selector, related, dependsOn string }{
		"text":                      {template: repeated("apiVersion: v1 ")},
		"lines":                     {template: repeated("\n")},
		"numbers":                   {template: repeated("{{1}}")},
		"text and numbers":          {template: repeated("a{{1}}")},
		"fields":                    {template: repeated("{{.spec.a}}")},
		"roots":                     {template: repeated("{{$}}")},
		"parentheses":               {template: repeated("{{(1)}}")},
		"ifs":                       {template: repeated("{{if 1}}{{end}}")},
		"elses":                     {template: repeated("{{with 1}}a{{else}}a{{end}}a")},
		"ranges":                    {template: repeated("{{range $a,$b:=1}}{{end}}")},
		"variables":                 {template: numbered("{{$a%d:=1}}")},
		"define blocks":             {template: numbered("{{define \"%d\"}}{{end}}")},
		"blocks":                    {template: numbered("{{block \"%d\" .}}{{end}}")},
		"arguments":                 {template: "{{ and " + repeated("1 ") + "}}"},
		"quoted arguments":          {template: "{{ and " + repeated("\"\" ") + "}}"},
		"short paths":               {template: "{{ and " + repeated(".spec.a ") + "}}"},
		"a long path":               {template: "{{ .spec" + repeated(".a") + "}}"},
		"many parentheses":          {template: "{{ and " + repeated("(1) ") + "}}"},
		"many pipes":                {template: "{{ 1" + repeated("|not") + "}}"},
		"numbers in values":         {values: `{"a": [` + repeated("1000,") + "1]}"},
		"texts in values":           {values: `{"a": [` + repeated(`"a",`) + "1]}"},
		"mappings in values":        {values: `{"a": [` + repeated(`{"":1},`) + "1]}"},
		"empty mappings":            {values: `{"a": [` + repeated(`{},`) + "1]}"},
		"lists in values":           {values: `{"a": [` + repeated(`[1],`) + "1]}"},
		"a large mapping":           {values: `{` + numbered(`"%d":1,`) + `"a":1}`},
		"small mappings":            {values: `{"a": [` + repeated(`{"a":1,"b":2,"c":3},`) + "1]}"},
		"a long text":               {values: `{"a": "` + repeated("a") + `"}`},
		"lines in values":           {values: `{"a": "` + repeated(`\n`) + `"}`},
		"expressions of selectors":  {selector: `{"matchExpressions": [` + strings.TrimSuffix(strings.Repeat(`{"key":"a","operator":"Exists"},`, mostLabels), ",") + `]}`},
		"values of selectors":       {selector: `{"matchExpressions": [{"key":"a","operator":"In","values":[` + first(mostLabels, `"%d",`) + `"a"]}]}`},
		"short values of selectors": {selector: `{"matchExpressions": [{"key":"a","operator":"In","values":[` + strings.Repeat(`"",`, mostLabels) + `""]}]}`},
		"labels of selectors":       {selector: `{"matchLabels": {` + first(mostLabels, `"%d":"",`) + `"a":"b"}}`},
		"long labels of selectors":  {selector: `{"matchLabels": {` + first(mostLabels, `"%d`+strings.Repeat("a", 59)+`":"`+strings.Repeat("a", 63)+`",`) + `"a":"b"}}`},
		"labels of related objects": {related: `{"matchLabels": {` + first(mostLabels, `"%d":"",`) + `"a":"b"}}`},
		"values of related objects": {related: `{"matchExpressions": [{"key":"a","operator":"In","values":[` + first(mostLabels, `"%d",`) + `"a"]}]}`},
		"what an entry depends on":  {dependsOn: `[` + numbered(`"d%d",`) + `"b"]`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specWith(`{}`, c.template)
			read := func(text string, into any) {
				if text == "" {
					return
				}
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			read(c.selector, &spec.Watch.LabelSelector)
			read(c.dependsOn, &spec.Children[0].DependsOn)
			if c.related != "" {
				spec.Related = []v1.Related{{Name: "r", APIVersion: "v1", Kind: "Pod"}}
				read(c.related, &spec.Related[0].LabelSelector)
			}
			if c.values != "" {
				spec.Values.Raw = []byte(c.values)
			}
			text, err := json.Marshal(&v1.TemplateController{Spec: *spec})
			if err != nil {
				t.Fatal(err)
			}
			before := heapInUse()
			const copies = 2
			var decoded [copies]v1.TemplateController
			var compiled [copies]*Compiled
			for i := range copies {
				if err := json.Unmarshal(text, &decoded[i]); err != nil {
					t.Fatal(err)
				}
				var r *Rejection
				if compiled[i], r = Compile("tc", &decoded[i].Spec); r != nil && c.dependsOn == "" {
					t.Fatal(r.Message)
				}
			}
			held := int(heapInUse()-before) / copies
			size := Size(&decoded[0].Spec)
			t.Logf("%8d bytes held, %8d expected: %.2f", held, size, float64(held)/float64(size))
			if held > size {
				t.Errorf("%d bytes are held, want at most %d", held, size)
			}
			runtime.KeepAlive(decoded)
			runtime.KeepAlive(compiled)
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
