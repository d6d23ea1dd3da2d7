package license

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/tools/image/program"
)

// The licenses of all modules of templater allow distribution with it. Ask before adding one.
func TestDependencyLicensesAreAllowed(t *testing.T) {
	modules, err := Of(t.Context(), "../../..",
		Program{Package: "./cmd/templater", Platform: program.Platform{System: "linux", Architecture: "amd64"}, Tags: ""},
		Program{Package: "./cmd/templater", Platform: program.Platform{System: "windows", Architecture: "arm64"}, Tags: ""},
		Program{Package: "./cmd/playground", Platform: program.Platform{System: "js", Architecture: "wasm"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	found := map[string]string{}
	for _, m := range modules {
		path, version, _ := strings.Cut(m.Name, "@")
		found[path] = m.License
		got = append(got, strings.Split(m.License, " AND ")...)
		if version == "" || len(m.Texts) == 0 {
			t.Errorf("%s has %d texts", m.Name, len(m.Texts))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"Apache-2.0", "BSD-3-Clause", "ISC", "MIT"}, slices.Compact(got)); diff != "" {
		t.Errorf("licenses (-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{
		"k8s.io/api":   "Apache-2.0",
		"k8s.io/utils": "Apache-2.0 AND BSD-3-Clause", // includes Go's own code, in a folder with a separate license
	} {
		if found[path] != want {
			t.Errorf("%s: got %q, want %s", path, found[path], want)
		}
	}
}

func TestTextsListModules(t *testing.T) {
	got := string(Texts([]Module{
		{Name: "a@v1", Texts: [][]byte{[]byte("free\n"), []byte("noted\n")}},
		{Name: "b@v1", Texts: [][]byte{[]byte("free")}},
	}))
	line := strings.Repeat("=", 80)
	want := "templater is made with the modules below. What their authors say of their use:\n\n" + line + "\na@v1\nb@v1\n\nfree\n\n" + line + "\na@v1\n\nnoted\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestModulesWithoutLicenseAreRejected(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"NOTICE": "by us", "LICENSE": "do as you like, but tell us"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"NOTICE":  "the module a@v1 has no file with its license: do without it",
		"LICENSE": "is no license that is known: read it, and do without the module unless it may be given away with templater",
		"gone":    "no such file",
	} {
		if _, err := read("a@v1", []string{filepath.Join(folder, file)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", file, err, want)
		}
	}
	if err := (files{}).in(filepath.Join(folder, "gone")); err == nil {
		t.Error("a missing directory: got no error")
	}
	_, err := Of(t.Context(), folder, Program{Package: "./cmd/templater", Platform: program.Platform{System: "linux", Architecture: "amd64"}})
	if err == nil || !strings.HasPrefix(err.Error(), "list the packages of ./cmd/templater for linux/amd64: ") {
		t.Errorf("a folder that is no module: got error %v", err)
	}
}
