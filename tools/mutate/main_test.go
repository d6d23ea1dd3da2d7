package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a module with one function that is tested well, one that is tested badly, and one that is not.
var small = map[string]string{
	"go.mod": "module small\n\ngo 1.26\n",
	"p/p.go": `package p

func Well(n int) bool {
	if n < 0 {
		return false
	}
	return true
}

func Badly(n int) int {
	if n > 0 {
		n++
	}
	return n
}

func Not() bool { return true }
`,
	"p/p_test.go": `package p

import "testing"

func TestWell(t *testing.T) {
	if Well(-1) || !Well(0) || !Well(1) {
		t.Error("no")
	}
}

func TestBadly(t *testing.T) {
	if Badly(0); Badly(1) != 2 {
		t.Error("no")
	}
}
`,
	"survivors.txt": "# none\np/p.go: Not: return the opposite of true\n  nobody calls\n  it\n",
}

// inModule has the test run in that module, with more files.
func inModule(t *testing.T, more map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, files := range []map[string]string{small, more} {
		for name, text := range files {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTestsOfWhoUsesAPackageCount(t *testing.T) {
	inModule(t, map[string]string{
		"q/q_test.go": "package q\n\nimport (\n\t\"small/p\"\n\t\"testing\"\n)\n\nfunc TestP(t *testing.T) {\n\tif p.Badly(0) != 0 || !p.Not() {\n\t\tt.Error(\"no\")\n\t}\n}\n",
		"r/r_test.go": "package r\n\nimport \"testing\"\n\nfunc TestNothing(*testing.T) {}\n",
	})
	var out strings.Builder
	good, err := run(t.Context(), &out, options{survivors: "survivors.txt", with: "q,r,p", folders: []string{"p"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("p: 9 mutants, 9 tried: 9 killed, 0 timed out, 0 survive, 0 not reached (0.0 % in all, 0 of them explained)\n", out.String()); diff != "" || !good {
		t.Errorf("good is %v, want true; report (-want +got):\n%s", good, diff)
	}
}

func TestReport(t *testing.T) {
	inModule(t, nil)
	var out strings.Builder
	good, err := run(t.Context(), &out, options{survivors: "survivors.txt", folders: []string{"p"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `line 11 survives
p/p.go: Badly: move the bound of n > 0
p: 9 mutants, 9 tried: 7 killed, 0 timed out, 1 survive, 1 not reached (22.2 % in all, 1 of them explained)
`
	if diff := cmp.Diff(want, out.String()); diff != "" || good {
		t.Errorf("good is %v, want false; report (-want +got):\n%s", good, diff)
	}
}

func TestSurvivorsNeedReasons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "survivors.txt")
	for text, ok := range map[string]bool{
		"a: b: c\n  because\n":           true,
		"a: b: c\n":                      false,
		"a: b: c\nd: e: f\n  because\n":  false,
		"# a comment\n\na: b\n\tbecause": true,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSurvivors(file); (err == nil) != ok {
			t.Errorf("%q: err = %v", text, err)
		}
	}
}

func TestSampleIsDrawnAgain(t *testing.T) {
	all := make([]mutant, 50)
	for i := range all {
		all[i].id = i + 1
	}
	o := options{sample: 5, seed: 7}
	first, again := choose(all, o), choose(all, o)
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(mutant{})); diff != "" || len(first) != 5 {
		t.Errorf("%d mutants, the second time (-first +second):\n%s", len(first), diff)
	}
}

func TestSurvivorsAreMutants(t *testing.T) {
	known, err := readSurvivors("survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	there, read := map[string]bool{}, map[string]bool{}
	for name := range known {
		file, _, _ := strings.Cut(name, ": ")
		if read[file] {
			continue
		}
		read[file] = true
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
		if err != nil {
			t.Error(err)
			continue
		}
		_, mutants, err := rewrite(file, text, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			there[m.name()] = true
		}
	}
	for name := range known {
		if !there[name] {
			t.Errorf("%s: no mutant has that name any more", name)
		}
	}
}
