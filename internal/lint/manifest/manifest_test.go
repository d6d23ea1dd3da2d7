package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = "apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata:\n  name: a\nspec:\n"

func load(t *testing.T, text string) (*Set, error) {
	t.Helper()
	return Load([]string{Stdin}, strings.NewReader(text))
}

// TestTemplatePositions asks for the place of the word HERE: line and column in the text that YAML makes are looked up there, and
// those in the file by its own text.
func TestTemplatePositions(t *testing.T) {
	for why, row := range map[string]struct{ text, where string }{
		"a literal text":               {head + "  children:\n  - name: pod\n    template: |\n      kind: Pod\n      é HERE\n", "children[pod]"},
		"one without its last newline": {head + "  children:\n  - name: pod\n    template: |-\n      kind: Pod\n\n      metadata: HERE", "children[pod]"},
		"one that begins with a blank": {head + "  children:\n  - name: pod\n    template: |\n\n      kind: HERE\n", "children[pod]"},
		"one with an indentation":      {head + "  children:\n  - name: pod\n    template: |2\n         kind: HERE\n      b\n", "children[pod]"},
		"one with a comment":           {head + "  helpers: | # text\n    a\n      HERE\n", "helpers"},
		"CRLF":                         {strings.ReplaceAll(head+"  helpers: |\n    a\n    b HERE\n", "\n", "\r\n"), "helpers"},
		"a BOM":                        {"\ufeff" + head + "  helpers: |\n    a\n    b HERE\n", "helpers"},
		"the second document":          {"a: 1\nkind: B\napiVersion: v1\n--- # here\n# more\n" + head + "  helpers: |\n    b HERE\n---\n", "helpers"},
		"a folded text":                {head + "  helpers: >\n    one two\n    three\n\n    four HERE\n      more\n", "helpers"},
		"the start of a folded line":   {head + "  helpers: >-\n    one two\n    HERE\n", "helpers"},
		"an indented one":              {head + "  helpers: >\n    one\n      two\n      HERE\n", "helpers"},
		"a plain text":                 {head + "  helpers: one two HERE\n", "helpers"},
		"a plain one of many lines":    {head + "  helpers: one\n    two\n\n    three HERE\n", "helpers"},
		"double quotes":                {head + `  helpers: "a\tb \"c\"\n \u00e9\x41 HERE"` + "\n", "helpers"},
		"double quotes of many lines":  {head + "  helpers: \"one \\\n    two\n    three\\nHERE\"\n", "helpers"},
		"single quotes":                {head + "  helpers: 'it''s HERE'\n", "helpers"},
		"single quotes of many lines":  {head + "  helpers: 'it''s\n\n    {{ HERE }}'\n", "helpers"},
		"flow":                         {head + "  children: [{name: a, template: x}, {name: b, template: 'y HERE'}]\n", "children[b]"},
		"an anchor":                    {head + "  helpers: &h |\n    HERE\n  children: []\n", "helpers"},
		"an alias":                     {head + "  helpers: &h |\n    b HERE\n  children:\n  - {name: x, template: *h}\n", "children[x]"},
		"a merge":                      {head + "  children:\n  - &x {name: x, template: a HERE}\n  - {<<: *x, name: z}\n", "children[z]"},
		"JSON":                         {`{"apiVersion":"templater.dev/v1","kind":"TemplateController","metadata":{"name":"a"},` + "\n" + ` "spec":{"helpers":"a\nb HERE"}}`, "helpers"},
		"status":                       {head + "  status:\n    template: |\n      a: HERE\n", "status"},
		"readyWhen":                    {head + "  children:\n  - name: a\n    readyWhen: eq 1 HERE\n", "children[a].readyWhen"},
		"an entry of finalize":         {head + "  children:\n  - name: a\n  finalize:\n    children:\n    - name: b\n      template: |\n        HERE\n", "children[b]"},
		"a selection":                  {head + "  related:\n  - name: b\n    select: |\n      name: HERE\n", "related[b].select"},
		"an item of a List":            {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- " + strings.ReplaceAll(head, "\n", "\n  ") + "  helpers: |\n      a HERE\n", "helpers"},
		"a line separator of Unicode":  {head + "  helpers: |\n    a\u00a0b HERE\n", "helpers"},
	} {
		t.Run(why, func(t *testing.T) {
			set, err := load(t, row.text)
			if err != nil {
				t.Fatal(err)
			}
			c := set.Controllers[0]
			line, column := position(resolve(c.find(row.where).node).Value)
			_, gotLine, gotColumn := c.Place(row.where, line, column)
			wantLine, wantColumn := position(strings.TrimPrefix(row.text, "\ufeff"))
			if gotLine != wantLine || gotColumn != wantColumn {
				t.Errorf("%d:%d is at %d:%d, want %d:%d", line, column, gotLine, gotColumn, wantLine, wantColumn)
			}
			if _, gotLine, gotColumn := c.Place(row.where, line, 0); strings.Contains(why, "literal") && (gotLine != wantLine || gotColumn != 0) {
				t.Errorf("the line alone is at %d:%d", gotLine, gotColumn)
			}
		})
	}
}

// position is where HERE stands.
func position(text string) (line, column int) {
	before, _, _ := strings.Cut(text, "HERE")
	last := before[strings.LastIndex(before, "\n")+1:]
	return strings.Count(before, "\n") + 1, len([]rune(last)) + 1
}

// TestFieldPositions finds what no template holds, and what is not there.
func TestFieldPositions(t *testing.T) {
	set, err := load(t, head+"  resyncPeriod: 1x\n  values:\n    a.b: [1, 2]\n  children:\n  - name: b\n    scope: Cluster\n    template: |\n      a\n       \n      b c\n")
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string][2]int{
		"spec.resyncPeriod":       {6, 3},
		"spec.values['a.b'][1]":   {8, 14},
		"spec.children[b].scope":  {11, 5},
		"spec.children[0].scope":  {11, 5},
		"spec.children[b].absent": {10, 5},
		"spec.children[c]":        {9, 3},
		"children[b]":             {12, 5},
		"children[c]":             {9, 3},
		"status":                  {5, 1},
		"metadata.name":           {4, 3},
		"":                        {1, 1},
	} {
		_, line, column := set.Controllers[0].Place(where, 0, 0)
		if got := [2]int{line, column}; got != want {
			t.Errorf("%s is at %v, want %v", where, got, want)
		}
	}
	for at, want := range map[[2]int][2]int{{2, 1}: {14, 7}, {2, 2}: {14, 8}, {3, 4}: {15, 10}, {9, 9}: {12, 5}} {
		_, line, column := set.Controllers[0].Place("children[b]", at[0], at[1])
		if got := [2]int{line, column}; got != want {
			t.Errorf("%v is at %v, want %v", at, got, want)
		}
	}
}

// TestDuplicateNamePositionIsSecond: the first one is fine.
func TestDuplicateNamePositionIsSecond(t *testing.T) {
	set, err := load(t, head+`  related: [{name: b, kind: A}, {name: c}, {name: b}]
  children:
  - name: b
    template: "{{ if }}"
  - template: x
    name: b
  finalize: {children: [{name: d}, {name: d}]}
`)
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string][2]int{"children[b]": {11, 5}, "children[d]": {12, 37}, "related[b]": {6, 45}} {
		if _, line, column := set.Controllers[0].Place(where, 0, 0); [2]int{line, column} != want {
			t.Errorf("%s is at %d:%d, want %v", where, line, column, want)
		}
	}
	if _, line, _ := set.Controllers[0].Place("children[b]", 1, 4); line != 9 {
		t.Errorf("a fault of the first template is in line %d, want 9", line)
	}
}

// TestLoadErrors has each fault told with its place, on one line.
func TestLoadErrors(t *testing.T) {
	for why, row := range map[string]struct{ text, want string }{
		"nothing":                  {"", "standard input: it contains no object"},
		"only comments":            {"# a\n---\n...\n", "standard input: it contains no object"},
		"no YAML":                  {head + "---\na: [1\nb: 2\n", "standard input:7:4: invalid YAML: the [ here is not closed, or a comma is missing after an item (did not find expected ',' or ']')"},
		"a template, not YAML":     {"kind: {{ .Values.kind }}\n", "standard input:1:8: a key must be a string; a value that begins with { or [, such as {{ .Values.name }}, must be quoted"},
		"a template in a field":    {head + "  helpers: {{ define \"a\" }}b{{ end }}\n", "standard input:6:28: invalid YAML: a value that begins with {{ needs quotes around it (did not find expected key)"},
		"indented too far":         {head + "---\n" + head + "  suspend: true\n   whenDeleted: OrphanChildren\n", "standard input:13:4: invalid YAML: this line is indented deeper than line 12, which already has a value: use the same indentation for both (mapping values are not allowed in this context)"},
		"no JSON":                  {`{"a": "\ud83d\ude00", }`, "standard input:1:23: invalid JSON: invalid character '}' looking for beginning of object key string"},
		"no JSON, on a later line": {"{\n \"é\": \"\\ud83d\\ude00\",\n \"é\" 1}\n", "standard input:3:6: invalid JSON: invalid character '1' after object key"},
		"aliases of a long text":   {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 64) + "]\n", "standard input:1: the aliases (*name) expand to more than 64 MiB: write fewer of them"},
		"aliases of aliases":       {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b]\n", "standard input:1: the aliases (*name) expand to more than 64 MiB: write fewer of them"},
		"a key twice":              {head + "---\n{a: 1, b: {c: 1, c: 2}}\n", "standard input:7:18: duplicate key c"},
		"no object":                {"\n# x\nreplicas: 1\n", "standard input:3:1: not an object: apiVersion and kind are missing"},
		"a list":                   {"- a\n", "standard input:1:1: not an object: apiVersion and kind are missing"},
		"no UTF-8":                 {"a: \xff", "standard input: not text: use UTF-8"},
		"an anchor in itself":      {"apiVersion: v1\nkind: &a [*a]\n", "standard input:1: "},
		"another version":          {"kind: TemplateController\napiVersion: templater.dev/v2\n", "standard input:2:1: apiVersion templater.dev/v2: write templater.dev/v1"},
		"no name":                  {"apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata: {}\n", "standard input:3:1: a TemplateController without a name: set metadata.name"},
		"two of one name":          {head + "---\n" + head, "standard input:10:3: duplicate TemplateController a: rename or remove one; the other is in -:1"},
		"an unknown field":         {head + "  children:\n  - name: b\n    tmplate: x\n", "standard input:8:5: unknown field spec.children[0].tmplate; did you mean template?"},
		"a letter swapped":         {head + "  childern: []\n", "standard input:6:3: unknown field spec.childern; did you mean children?"},
		"another case":             {head + "  children:\n  - name: b\n    readywhen: x\n", "standard input:8:5: unknown field spec.children[0].readywhen; did you mean readyWhen?"},
		"a level too high":         {head + "  template: x\n", "standard input:6:3: unknown field spec.template; it is in spec.children[], or in spec.finalize.children[], or in spec.status"},
		"a level too low":          {head + "  watch:\n    resyncPeriod: 5m\n", "standard input:7:5: unknown field spec.watch.resyncPeriod; it is in spec"},
		"outside of spec":          {strings.Replace(head, "spec:", "children: []\nspec:", 1) + "  suspend: true\n", "standard input:5:1: unknown field children; it is in spec"},
		"a name of nothing":        {head + "  reconciliation: x\n", "standard input:6:3: unknown field spec.reconciliation"},
		"another type":             {head + "  children:\n  - name: b\n    template: {a: 1}\n", "standard input:8:5: spec.children[0].template is a mapping, but must be a string"},
		"a list for a mapping":     {head + "  watch: []\n", "standard input:6:3: spec.watch is a list, but must be a mapping; known: apiVersion fieldSelector filter kind labelSelector namespaceSelector namespaces"},
		"a number for a switch":    {head + "  suspend: 1\n", "standard input:6:3: spec.suspend is a number, but must be a boolean: write true or false"},
		"a number for a duration":  {head + "  resyncPeriod: 20\n", "standard input:6:3: spec.resyncPeriod is a number, but must be a string: quote it"},
		"a type for a strategy":    {head + "  children:\n  - name: b\n    updateStrategy: Recreate\n", "standard input:8:5: spec.children[0].updateStrategy is a string, but must be a mapping; known: onImmutable rollingUpdate type"},
		"a word of YAML 1.1":       {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  properties: {'y': {}, N: {type: string}}\n", "standard input:4:25: the key N means false in YAML 1.1, which kubectl reads: quote it"},
		"one in spec.values":       {head + "  values: {n: 3}\n", "standard input:6:12: the key n means false in YAML 1.1, which kubectl reads: quote it"},
		"the same in a List":       {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, on: 1}\n", "standard input:5:73: the key on means true in YAML 1.1, which kubectl reads: quote it"},
		"in a List":                {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- b\n", "standard input:5:3: not an object: apiVersion and kind are missing"},
	} {
		_, err := load(t, row.text)
		if err == nil || !strings.HasPrefix(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", why, err, row.want)
		}
	}
}

// TestLoadFolder reads a folder, and what is given beside it.
func TestLoadFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b/tc.yaml":         head + "  suspend: yes\n",
		"a.yml":             "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n---\n# nothing\n---\napiVersion: v1\nkind: A\nnumber: 9007199254740993\n",
		"c.json":            "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"B\", \"smile\": \"\\ud83d\\ude00\"\n}\n",
		"values.yaml":       "a: 1\n",
		"README.md":         "{{",
		".hidden/x.yaml":    "{{",
		"b/.x.yaml":         "{{",
		"kustomization.yml": "resources: [a.yml]\n",

		"chart/Chart.yaml":            "name: x\n",
		"chart/templates/x.yaml":      "{{ if }}",
		"templates/of-something.yaml": "apiVersion: v1\nkind: D\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := LoadControllers([]string{dir, filepath.Join(dir, "a.yml"), Stdin, Stdin}, strings.NewReader("apiVersion: v1\nkind: C\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.CRDs) != 1 || set.CRDs[0].Line != 1 || len(set.Controllers) != 1 || !set.Named("a").Spec.Suspend {
		t.Errorf("got %d definitions and %d controllers", len(set.CRDs), len(set.Controllers))
	}
	var got []Object
	for _, o := range set.Objects {
		got = append(got, *o)
	}
	want := []Object{
		{map[string]any{"apiVersion": "v1", "kind": "A", "number": int64(9007199254740993)}, filepath.Join(dir, "a.yml"), 6},
		{map[string]any{"apiVersion": "v1", "kind": "B", "smile": "😀"}, filepath.Join(dir, "c.json"), 1},
		{map[string]any{"apiVersion": "v1", "kind": "D"}, filepath.Join(dir, "templates/of-something.yaml"), 1},
		{map[string]any{"apiVersion": "v1", "kind": "C"}, Stdin, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestLoadInvalidPaths(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "absent")
	if _, err := Load([]string{absent}, nil); err == nil || err.Error() != absent+": no such file or directory" {
		t.Errorf("got %v", err)
	}
	if _, err := LoadControllers([]string{dir}, nil); err == nil || err.Error() != "no TemplateController in "+dir {
		t.Errorf("got %v", err)
	}
}

// TestLoadRejectsDevices links to a device that can be read for ever, as a repository of somebody else may.
func TestLoadRejectsDevices(t *testing.T) {
	const endless = "/dev/zero"
	if _, err := os.Stat(endless); err != nil {
		t.Skip("this system has none: ", err)
	}
	for _, name := range []string{"a.yaml", CaseFile} {
		dir := t.TempDir()
		if err := os.Symlink(endless, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(dir, name) + ": not a regular file"
		if _, err := Load([]string{dir}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if _, err := ReadFile(filepath.Join(dir, name)); err == nil || !strings.HasSuffix(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Load([]string{endless}, nil); err == nil || !strings.HasSuffix(err.Error(), "larger than 64 MiB: not a manifest") {
		t.Errorf("error %v", err)
	}
}

// TestLoadReadsOnlyFilesOfCase: of the files of a case below a folder, only what a case is about is read. A folder or file that is named is read.
func TestLoadReadsOnlyFilesOfCase(t *testing.T) {
	object := func(name string) string { return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n" }
	for why, row := range map[string]struct {
		files map[string]string
		paths []string
		want  string
	}{
		"a case":                   {map[string]string{"a.yaml": object("a"), "test/case.yaml": "steps: []\n", "test/b.yaml": object("b"), "test/in/c.yaml": object("c")}, []string{"."}, "a"},
		"a case that is no YAML":   {map[string]string{"a.yaml": object("a"), "test/b.yaml": object("b"), "test/case.yaml": "# comment only\n"}, []string{"."}, "a"},
		"an object in case.yaml":   {map[string]string{"a.yaml": object("a"), "test/b.yaml": object("b"), "test/case.yaml": object("case")}, []string{"."}, "a b case"},
		"a case that is named":     {map[string]string{"a.yaml": object("a"), "test/case.yaml": "steps: []\n", "test/b.yaml": object("b"), "test/expected/c.yaml": object("c")}, []string{"test"}, "b"},
		"a file that is named":     {map[string]string{"a.yaml": object("a"), "test/case.yaml": "steps: []\n", "test/b.yaml": object("b")}, []string{".", "test/b.yaml"}, "a b"},
		"expected without a case":  {map[string]string{"expected/a.yaml": object("a")}, []string{"."}, "a"},
		"files of a test case":     {map[string]string{"a.yaml": object("a"), "test/case.yaml": "steps: []\n", "test/b.yaml": head + "---\n" + object("b")}, []string{"."}, "a +a"},
		"a name that begins alike": {map[string]string{"test/case.yaml": "steps: []\n", "test-more/a.yaml": object("a")}, []string{"."}, "a"},
	} {
		t.Run(why, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range row.files {
				file := filepath.Join(folder, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(folder)
			set, err := Load(row.paths, strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range set.Objects {
				names = append(names, o.Content["metadata"].(map[string]any)["name"].(string))
			}
			for _, c := range set.Controllers {
				names = append(names, "+"+c.TemplateController.Name)
			}
			if got := strings.Join(names, " "); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestPatchesOfKustomizationsAreSkipped(t *testing.T) {
	folder := t.TempDir()
	for file, text := range map[string]string{
		"base/kustomization.yaml":   "resources: [app.yaml]\n",
		"base/app.yaml":             head,
		"prod/kustomization.yml":    "resources: [../base]\npatches: [{path: patch.yaml}, {patch: \"[]\", target: {kind: A}}]\npatchesStrategicMerge: [./more/second.yaml]\n",
		"prod/patch.yaml":           head,
		"prod/more/second.yaml":     head,
		"broken/kustomization.yaml": "a: [\n",
		"broken/b.yaml":             strings.Replace(head, "name: a", "name: b", 1),
	} {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, faults := LoadAll([]string{folder}, nil)
	if len(set.Controllers) != 2 || len(faults) != 1 || filepath.Base(faults[0].File) != "kustomization.yaml" {
		t.Errorf("got %d TemplateControllers and errors %v", len(set.Controllers), faults)
	}
	if set, err := Load([]string{filepath.Join(folder, "prod", "patch.yaml")}, nil); err != nil || len(set.Controllers) != 1 {
		t.Errorf("got %v and error %v, but the file itself is a path", set, err)
	}
}

// TestFilesBesideCasesAreSkipped has objects that several cases share. Folders with another name hold no cases only.
func TestFilesBesideCasesAreSkipped(t *testing.T) {
	folder := t.TempDir()
	object := "apiVersion: v1\nkind: A\n"
	for file, text := range map[string]string{
		"cases/expect.yaml": object, "cases/one/case.yaml": "steps: []\n", "cases/one/parent.yaml": object,
		"tests/a.yaml": object, "app/b.yaml": object, "app/one/case.yaml": "steps: []\n", "app/one/parent.yaml": object,
	} {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, faults := LoadAll([]string{folder}, nil)
	var got []string
	for _, o := range set.Objects {
		got = append(got, filepath.Base(o.File))
	}
	if diff := cmp.Diff([]string{"b.yaml", "a.yaml"}, got); diff != "" || len(faults) > 0 {
		t.Errorf("errors %v, files (-want +got):\n%s", faults, diff)
	}
}
