package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/cli/scaffold"
)

// textOf returns all that a chart became, but its notes.
func textOf(result *scaffold.Result) string {
	var all strings.Builder
	for _, f := range result.Files {
		all.WriteString("--- " + f.Name + "\n" + f.Content)
	}
	return all.String()
}

// TestHiddenAndHelmignoredFilesAreSkipped has a template that prints all files of the chart. Neither hidden ones nor those of .helmignore get anywhere.
func TestHiddenAndHelmignoredFilesAreSkipped(t *testing.T) {
	files := map[string]string{
		".helmignore":      "# secrets\n\n*.key\nprivate/\n/top.txt\ndocs/*.md\n",
		"templates/a.yaml": configMap + "data:\n{{ (.Files.Glob \"**\").AsConfig | indent 2 }}\n",
		"templates/b.yaml": configMap + "data: {a: {{ .Files.Get (print \"a\" \"b\") | quote }}}\n",
		"templates/c.yaml": configMap + "data: {a: {{ .Files.Get \"seen.txt\" | quote }}}\n",
	}
	seen := []string{"seen.txt", "sub/top.txt", "sub/docs/a.md", "private.txt"}
	unseen := []string{".git/config", ".env", "sub/.netrc", "templates/.a.yaml", "tls.key", "sub/tls.key", "private/a.txt", "sub/private/b.txt", "top.txt", "docs/a.md"}
	for _, name := range append(append([]string{}, seen...), unseen...) {
		files[name] = "word-of-" + name
	}
	c, err := load(small(files))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range seen {
		if c.files[name] == "" {
			t.Errorf("%s is left out", name)
		}
	}
	for _, name := range append(unseen, ".helmignore") {
		if _, found := c.files[name]; found {
			t.Errorf("%s is read", name)
		}
	}
	result, err := Convert(small(files), group, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unseen {
		if strings.Contains(textOf(result), "word-of-"+name) {
			t.Errorf("what %s holds is in the files", name)
		}
	}
	for _, pattern := range []string{"!a", "a/**", "[a"} {
		_, err := Convert(small(map[string]string{".helmignore": "b\n" + pattern + "\n"}), group, false)
		want := ".helmignore:2: unsupported pattern " + pattern + ": use names and paths with *, ? and [a-z]"
		if err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestSymlinksInChart(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"Chart.yaml": "name: small\nversion: 1.0.0\n", "templates/a.yaml": configMap, "other/a.txt": "a", "large.txt": strings.Repeat("a", maxFile+1)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "other", "link.txt": "other/a.txt", "null": os.DevNull, "long": "large.txt"} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, n := range c.notes {
		notes = append(notes, n.String())
	}
	const want = "large.txt: larger than 1 MiB: skipped\n" +
		"link: it is a symbolic link to a directory: skipped; replace it with the directory\n" +
		"long: larger than 1 MiB: skipped\n" +
		"null: not a file: skipped"
	if got := strings.Join(notes, "\n"); got != want || c.files["link.txt"] != "a" {
		t.Errorf("got link.txt %q and notes\n%s\nwant\n%s", c.files["link.txt"], got, want)
	}
}

const crdOf = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %s.example.com}\nspec:\n  group: example.com\n  scope: Cluster\n" +
	"  names: {kind: %k, plural: %s}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"

// TestCRDsAreReadFromCrdsFolder: all documents of all files below crds count, and nothing else there.
func TestCRDsAreReadFromCrdsFolder(t *testing.T) {
	crd := func(kind string) string {
		return strings.NewReplacer("%s", strings.ToLower(kind)+"s", "%k", kind).Replace(crdOf)
	}
	result, err := Convert(small(map[string]string{
		"crds/README.md":   "# words\n",
		"crds/sub/a.yaml":  crd("Apple") + "---\n" + crd("Berry"),
		"templates/a.yaml": "apiVersion: example.com/v1\nkind: Berry\nmetadata: {name: a}\n",
	}), group, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := fileOf(t, result, "templatecontroller.yaml"); !strings.Contains(got, "scope: Cluster") {
		t.Errorf("the second document is not known:\n%s", got)
	}
	kustomization := fileOf(t, result, "kustomization.yaml")
	if fileOf(t, result, "crds/sub/a.yaml") == "" || !strings.Contains(kustomization, "crds/sub/a.yaml") || strings.Contains(kustomization, "README") {
		t.Errorf("got %s", kustomization)
	}
}

// TestInvalidHelpersAreDropped: two wrong helpers are left out, and the good ones around them stay.
func TestInvalidHelpersAreDropped(t *testing.T) {
	long := strings.Repeat("{{/* line */}}\n", 5)
	result, err := Convert(small(map[string]string{
		"templates/_a.tpl": "{{ define \"a\" }}\n" + long + "{{ nosuch 1 }}{{ end }}\n{{ define \"b\" }}\n" + long + "good{{ end }}\n{{ define \"c\" }}\n" + long + "{{ nosuch 2 }}{{ end }}\n{{ define \"d\" }}\n" + long + "fine{{ end }}\n",
		"templates/a.yaml": configMap + "data: {b: {{ include \"b\" . }}, d: {{ include \"d\" . }}}\n",
	}), group, false)
	if err != nil {
		t.Fatal(err)
	}
	got := fileOf(t, result, "templatecontroller.yaml")
	if !strings.Contains(got, `define "b"`) || !strings.Contains(got, `define "d"`) || strings.Contains(got, "nosuch") {
		t.Errorf("got\n%s\nnotes %v", got, result.Notes)
	}
}

// TestHookAnnotationsAreRemoved has the annotations of a hook go, and their key with the last of them.
func TestHookAnnotationsAreRemoved(t *testing.T) {
	const head, tail = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n", "spec:\n  backoffLimit: 1\n"
	for name, test := range map[string]struct{ annotations, want string }{
		"hooks alone":        {"  annotations:\n    helm.sh/hook: pre-delete\n    \"helm.sh/hook-weight\": \"1\"\n", ""},
		"another one after":  {"  annotations:\n    helm.sh/hook: pre-delete\n    a: b\n", "  annotations:\n    a: b\n"},
		"another one before": {"  annotations:\n    a: b\n    helm.sh/hook: pre-delete\n", "  annotations:\n    a: b\n"},
		"a key after them":   {"  annotations:\n    helm.sh/hook: pre-delete\n  labels: {a: b}\n", "  labels: {a: b}\n"},
		"an action":          {"  annotations:\n    helm.sh/hook: pre-delete\n    {{- toYaml .Values.a | nindent 4 }}\n", "  annotations:\n    {{- toYaml .spec.a | nindent 4 }}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Convert(small(map[string]string{"templates/a.yaml": configMap, "templates/b.yaml": head + test.annotations + tail}), group, false)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll("\n"+head+test.want+tail, "\n", "\n        ")
			if got := fileOf(t, result, "templatecontroller.yaml"); !strings.Contains(got, strings.TrimRight(want, " ")) {
				t.Errorf("got\n%s\nwant%s", got, want)
			}
		})
	}
}

func TestHookWithSeveralEvents(t *testing.T) {
	job := "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  annotations:\n    helm.sh/hook: pre-install, pre-delete\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n"
	result, err := Convert(small(map[string]string{"templates/a.yaml": configMap, "templates/b.yaml": job}), group, false)
	if err != nil {
		t.Fatal(err)
	}
	const want = "templates/b.yaml: the hook pre-install, pre-delete is converted to spec.finalize.children: its objects are created when the parent is deleted, " +
		"but no longer at pre-install: for that, also add them to spec.children"
	if len(result.Notes) != 1 || result.Notes[0].String() != want {
		t.Errorf("got %v", result.Notes)
	}
}
