package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMutants(t *testing.T) {
	for what, row := range map[string]struct {
		body, want string
		changes    []string
	}{
		"a condition": {
			"if a { x() } else { x() }",
			"if ((a) != mutantIs(1)) { if !mutantIs(2) { x() } } else { if !mutantIs(3) { x() } }",
			[]string{"negate a", "leave out x()", "leave out x()"},
		},
		"a condition that lets return early": {
			"if a { return }",
			"if ((a) != mutantIs(1)) { if !mutantIs(2) { return } }",
			[]string{"negate a", "leave out return"},
		},
		"a switch without a value": {
			"switch { case a, b: default: }",
			"switch { case ((a) != mutantIs(1)), ((b) != mutantIs(2)): default: }",
			[]string{"negate a", "negate b"},
		},
		"operands": {
			"y := a && b && (c || d); _ = y",
			"y := (a || mutantIs(2)) && (b || mutantIs(3)) && (((c && !mutantIs(4)) || (d && !mutantIs(5))) || mutantIs(1)); _ = y",
			[]string{"leave out, of &&, (c || d)", "leave out, of &&, a", "leave out, of &&, b", "leave out, of ||, c", "leave out, of ||, d"},
		},
		"bounds": {
			"y := m < n; z := m >= n; _, _ = y, z",
			"y := (m < n || mutantIs(1) && (m) == (n)); z := (m >= n && !(mutantIs(2) && (m) == (n))); _, _ = y, z",
			[]string{"move the bound of m < n", "move the bound of m >= n"},
		},
		"assignments, but for those that the compiler needs": {
			"y := 1; y = 2; y++; _ = y",
			"y := 1; if !mutantIs(1) { y = 2 }; if !mutantIs(2) { y++ }; _ = y",
			[]string{"leave out y = 2", "leave out y++"},
		},
		"results": {
			"return func() bool { return true }, func() (bool, error) { return false, errBad }",
			"return func() bool { return (true != mutantIs(1)) }, func() (bool, error) { return false, errBad }",
			[]string{"return the opposite of true"},
		},
		"logs and panics stay": {"klog.Info(1); log.Info(1); panic(1)", "klog.Info(1); log.Info(1); panic(1)", nil},
	} {
		t.Run(what, func(t *testing.T) {
			const before, after = "package p\n\nfunc (r *T[K]) f() {\n", "\n}\n"
			got, mutants, err := rewrite("p/f.go", []byte(before+row.body+after), 1)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before+row.want+after, string(got)); diff != "" {
				t.Errorf("code (-want +got):\n%s", diff)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "f.go", got, 0); err != nil {
				t.Error(err)
			}
			var changes []string
			for i, m := range mutants {
				if m.id != i+1 || m.line != 4 {
					t.Errorf("mutant %d has number %d and line %d", i, m.id, m.line)
				}
				changes = append(changes, strings.TrimPrefix(m.name(), "p/f.go: T.f: "))
			}
			if diff := cmp.Diff(row.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}
