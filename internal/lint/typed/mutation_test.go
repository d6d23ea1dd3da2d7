package typed

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/types"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// mutant is a template with one mistake that a machine has made.
type mutant struct {
	sort   string
	s      sample
	where  string // the template
	offset int
	old    string
	new    string
}

// key is the place of a key on a path: its index, and the whole path.
type key struct {
	where  string
	offset int // of the dot before it
	keys   []string
	i      int
	whole  int // offset of the path
	root   string
	kinds  openapi.JSONTypes // that the function takes of which it is an argument; 0 = it is none, or any
}

// TestMutationsAreDetected makes one mistake at a time in templates of this repository, of the sorts that people make. At
// least 95 of 100 are found, and where a letter is wrong, the permission key is suggested for at least 80 of 100.
func TestMutationsAreDetected(t *testing.T) {
	all, known := samplesOf(t)
	random := rand.New(rand.NewPCG(14, 14))
	total, found, misspelled, suggested := map[string]int{}, map[string]int{}, 0, 0
	var escaped []string
	for _, s := range all {
		if strings.Contains(s.file, "badinput") {
			continue
		}
		if t, _ := known.Lookup(gvk.FromAPIVersionAndKind(s.Spec.Watch.APIVersion, s.Spec.Watch.Kind)); t == nil {
			continue
		}
		before := s.check(t, known)
		for _, m := range mutants(t, s, random) {
			after, ok := m.check(known)
			if !ok {
				continue // whoever parses it finds it
			}
			total[m.sort]++
			isNew := slices.DeleteFunc(after, func(f finding.Finding) bool {
				return slices.ContainsFunc(before, func(o finding.Finding) bool { return o.Code == f.Code && o.Message == f.Message })
			})
			right := slices.ContainsFunc(isNew, func(f finding.Finding) bool { return f.Replacement == m.old })
			if m.sort == "letter" && len(isNew) > 0 {
				misspelled++
				if right {
					suggested++
				}
			}
			if len(isNew) > 0 {
				found[m.sort]++
			} else {
				escaped = append(escaped, m.sort+" "+m.s.Name+" "+m.where+": "+m.old+" -> "+m.new)
			}
		}
	}
	sum, hits := 0, 0
	for _, sort := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%s: %d of %d are found", sort, found[sort], total[sort])
		sum, hits = sum+total[sort], hits+found[sort]
	}
	t.Logf("all: %d of %d are found (%.1f %%)", hits, sum, 100*float64(hits)/float64(sum))
	t.Logf("misspelled: the right key is suggested for %d of %d (%.1f %%)", suggested, misspelled, 100*float64(suggested)/float64(misspelled))
	for _, e := range escaped {
		t.Logf("escapes: %s", e)
	}
	if sum < 500 || hits*100 < sum*95 || suggested*100 < misspelled*80 {
		t.Error("that is too few")
	}
}

// check returns what is found in a mutant, or false if it does not even parse.
func (m mutant) check(known openapi.Set) ([]finding.Finding, bool) {
	tc := m.s.DeepCopy()
	change := func(text *string) { *text = (*text)[:m.offset] + m.new + (*text)[m.offset+len(m.old):] }
	for i := range tc.Spec.Children {
		if syntax.ChildName(tc.Spec.Children[i].Name) == m.where {
			change(&tc.Spec.Children[i].Template)
		}
	}
	for i := range tc.Spec.Related {
		if syntax.SelectName(tc.Spec.Related[i].Name) == m.where {
			change(&tc.Spec.Related[i].Select)
		}
	}
	switch m.where {
	case "status":
		change(&tc.Spec.Status.Template)
	case "helpers":
		change(&tc.Spec.Helpers)
	}
	compiled, rejection := spec.Compile(tc.Name, &tc.Spec)
	if rejection != nil {
		return nil, false
	}
	return Check(nil, tc, compiled.Program, known), true
}

// mutants returns mistakes in the templates of a sample.
func mutants(t *testing.T, s sample, random *rand.Rand) (all []mutant) {
	t.Helper()
	compiled, rejection := spec.Compile(s.Name, &s.Spec)
	if rejection != nil {
		t.Fatal(rejection.Message)
	}
	for _, text := range texts(s.TemplateController) {
		for _, k := range keysIn(compiled.Program, text.Name) {
			add := func(sort string, offset int, old, changed string) {
				all = append(all, mutant{sort, s, text.Name, offset, old, changed})
			}
			last := k.i == len(k.keys)-1
			word := k.keys[k.i]
			seen := map[string]bool{}
			if !free(k.keys, k.i) {
				for range 8 {
					if changed := misspelled(word, random); changed != word && changed != "" && !seen[changed] && !slices.Contains(k.keys, changed) {
						seen[changed] = true
						add("letter", k.offset+1, word, changed)
					}
				}
			}
			whole := k.root + "." + strings.Join(k.keys, ".")
			if last && len(k.keys) > 1 && k.i > 0 && !free(k.keys, k.i) {
				shorter := slices.Delete(slices.Clone(k.keys), k.i-1, k.i)
				if k.root+shorter[0] != "metadata" {
					add("level", k.whole, whole, k.root+"."+strings.Join(shorter, "."))
				}
			}
			if last && !free(k.keys, k.i) && len(k.keys) > 1 {
				add("no map", k.whole, whole, whole+".name")
			}
			switch {
			case !last || k.kinds == 0:
			case k.kinds&openapi.String != 0 && k.kinds&openapi.List == 0:
				add("argument", k.whole, whole, "(list "+whole+")")
			case k.kinds&openapi.String == 0:
				add("argument", k.whole, whole, `"x"`)
			}
		}
	}
	return all
}

// free reports whether the key is one that users choose.
func free(keys []string, i int) bool {
	return i > 0 && (keys[i-1] == "labels" || keys[i-1] == "annotations" || keys[i-1] == "data")
}

// misspelled drops a letter, or swaps two.
func misspelled(word string, random *rand.Rand) string {
	i := random.IntN(len(word))
	if random.IntN(2) == 0 || i+1 >= len(word) {
		return word[:i] + word[i+1:]
	}
	return word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
}

func texts(tc *v1.TemplateController) (all []syntax.Template) {
	all = append(all, syntax.Template{Name: "helpers", Text: tc.Spec.Helpers})
	for _, c := range tc.Spec.Children {
		all = append(all, syntax.Template{Name: syntax.ChildName(c.Name), Text: c.Template})
	}
	for _, r := range tc.Spec.Related {
		all = append(all, syntax.Template{Name: syntax.SelectName(r.Name), Text: r.Select})
	}
	if tc.Spec.Status != nil {
		all = append(all, syntax.Template{Name: "status", Text: tc.Spec.Status.Template})
	}
	return all
}

// keysIn returns the keys of the paths in a template, but for those at the root of what it sees.
func keysIn(program *render.Program, name string) (all []key) {
	units := program.Templates()
	for _, u := range slices.Concat(units.Children, units.Selects, []*syntax.Unit{units.Status}) {
		if u == nil || u.Text.Name != name {
			continue
		}
		walkNodes(u.Body(), 0, func(n parse.Node, kinds openapi.JSONTypes) {
			switch n := n.(type) {
			case *parse.FieldNode:
				for i := range n.Ident {
					if i > 0 || !slices.Contains(syntax.RootKeys(u.Purpose).Names, n.Ident[0]) {
						all = append(all, key{name, syntax.Start(n) + lengthOf(n.Ident[:i]), n.Ident, i, syntax.Start(n), "", kinds})
					}
				}
			case *parse.VariableNode:
				from := syntax.Start(n) + len(n.Ident[0])
				for i := range n.Ident[1:] {
					if i > 0 || n.Ident[0] != "$" {
						all = append(all, key{name, from + lengthOf(n.Ident[1:1+i]), n.Ident[1:], i, syntax.Start(n), n.Ident[0], kinds})
					}
				}
			}
		})
	}
	return all
}

func lengthOf(keys []string) int { return len(strings.Join(keys, ".")) + min(len(keys), 1) }

// walkNodes calls do for all nodes, and says what the functions take whose arguments they are.
func walkNodes(n parse.Node, kinds openapi.JSONTypes, do func(parse.Node, openapi.JSONTypes)) {
	branch := func(b *parse.BranchNode) {
		walkNodes(b.Pipe, 0, do)
		walkNodes(b.List, 0, do)
		if b.ElseList != nil {
			walkNodes(b.ElseList, 0, do)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, each := range n.Nodes {
			walkNodes(each, 0, do)
		}
	case *parse.ActionNode:
		walkNodes(n.Pipe, 0, do)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.PipeNode:
		for _, cmd := range n.Cmds {
			f, _ := cmd.Args[0].(*parse.IdentifierNode)
			for i, operand := range cmd.Args {
				takes := openapi.JSONTypes(0)
				if f != nil && i > 0 {
					takes = types.SignatureOf(f.Ident).Param(i - 1).Kinds
				}
				walkNodes(operand, takes, do)
			}
		}
	case *parse.ChainNode:
		walkNodes(n.Node, 0, do)
	default:
		do(n, kinds)
	}
}
