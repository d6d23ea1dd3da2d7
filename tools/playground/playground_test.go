package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/templater-dev/templater/internal/cli/playground"
)

// TestExamplesHaveChildren renders each example like the page: it has children, or a status if it is only about that,
// and no problems.
func TestExamplesHaveChildren(t *testing.T) {
	t.Chdir("../..")
	all, err := examplesIn(groups)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, e := range all {
		found[e.Group]++
		t.Run(e.Name, func(t *testing.T) {
			var s playground.Session
			a := s.Answer(playground.Request{Controllers: e.Controllers, Definitions: e.Definitions, Parents: e.Parents, Related: e.Related})
			for _, p := range a.Problems {
				t.Errorf("%s:%d: %s", p.Text, p.Line, p.Message)
			}
			for _, f := range a.Findings {
				t.Errorf("%s:%d: %s: %s", f.Text, f.Line, f.Code, f.Message)
			}
			for _, r := range a.Results {
				if len(r.Children) > 0 || len(r.Tree.Controllers[0].Children) == 0 && r.Status != "" {
					return
				}
			}
			t.Error("it has no children")
		})
	}
	for _, g := range groups {
		if found[g.title] == 0 {
			t.Errorf("no example in %s", g.folder)
		}
	}
}

// TestPlaygroundBuildIsReproducible builds the program in two folders. program checks its size.
func TestPlaygroundBuildIsReproducible(t *testing.T) {
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(t.TempDir(), "another", "place")
	if err := os.MkdirAll(filepath.Dir(there), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, there); err != nil {
		t.Fatal(err)
	}
	var programs [2][]byte
	for i, folder := range []string{here, there} {
		if programs[i], err = program(folder); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d bytes of at most %d", len(programs[0]), mostBytes)
	if !bytes.Equal(programs[0], programs[1]) {
		t.Error("the program differs from folder to folder")
	}
}
