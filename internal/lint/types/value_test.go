package types

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/openapi"
)

// some values, of which each differs from all others in what is known.
func examples() map[string]*Value {
	spec := &openapi.Type{Kinds: openapi.Map, Fields: map[string]openapi.Field{
		"image": {Type: &openapi.Type{Kinds: openapi.String}, Present: true},
		"port":  {Type: &openapi.Type{Kinds: openapi.Integer}},
	}}
	origin := &Origin{Object: "Shop", Path: ".spec", Type: spec}
	return map[string]*Value{
		"anything":      Anything,
		"missing":       Missing,
		"text":          OfKinds(openapi.String),
		"a":             Literal("a"),
		"no text":       Literal(""),
		"0":             Literal(int64(0)),
		"true":          Literal(true),
		"number":        OfKinds(Numeric),
		"list":          ListOf(nil),
		"list of texts": ListOf(OfKinds(openapi.String)),
		"empty list":    OfData([]any{}, nil),
		"map":           OfKinds(openapi.Map),
		"dict":          {Kinds: openapi.Map, Keys: map[string]*Value{"a": Literal("b")}, Origin: &Origin{Source: FromTemplate}},
		"spec":          OfType(spec, origin),
		"values":        OfData(map[string]any{"a": []any{int64(1), int64(2)}}, &Origin{Root: ".values", Source: FromValues}),
	}
}

// TestJoinIsCommutativeAndSound holds that what comes of two ways may be all that either may be, in either order.
func TestJoinIsCommutativeAndSound(t *testing.T) {
	all := examples()
	for a, v := range all {
		for b, w := range all {
			joined, swapped := Join(v, w), Join(w, v)
			if joined.Kinds != swapped.Kinds || joined.Literal != swapped.Literal {
				t.Errorf("%s and %s are %s (%v), but the other way round %s (%v)", a, b, joined.Kinds.Words(), joined.Literal, swapped.Kinds.Words(), swapped.Literal)
			}
			for _, side := range []*Value{v, w} {
				if joined.Kinds != 0 && (side.Kinds == 0 || side.Kinds&^joined.Kinds != 0) {
					t.Errorf("%s and %s are %s, which lacks %s", a, b, joined.Kinds.Words(), side.Kinds.Words())
				}
				if joined.Never() && !side.Never() || joined.Always() && !side.Always() {
					t.Errorf("%s and %s: if is known to take it in one way, but not each of the two", a, b)
				}
			}
		}
	}
}

// TestJoinIsAssociative holds that it makes no difference which two of several values are joined first, as far as kinds go.
func TestJoinIsAssociative(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var all []*Value
	for _, v := range examples() {
		all = append(all, v)
	}
	for range 2000 {
		a, b, c := all[random.IntN(len(all))], all[random.IntN(len(all))], all[random.IntN(len(all))]
		if left, right := Join(Join(a, b), c).Kinds, Join(a, Join(b, c)).Kinds; left != right {
			t.Errorf("%s, %s and %s: %s or %s", a.Kinds.Words(), b.Kinds.Words(), c.Kinds.Words(), left.Words(), right.Words())
		}
	}
}

func TestNeverAndAlways(t *testing.T) {
	all := examples()
	for name, want := range map[string][2]bool{ // never, always
		"anything": {}, "text": {}, "number": {}, "list": {}, "map": {}, "list of texts": {}, "values": {},
		"missing": {true, false}, "no text": {true, false}, "0": {true, false}, "empty list": {true, false},
		"a": {false, true}, "true": {false, true}, "dict": {false, true}, "spec": {false, true},
	} {
		if got := [2]bool{all[name].Never(), all[name].Always()}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestPresentAndNullable(t *testing.T) {
	for name, v := range examples() {
		if w := v.Nullable(); !w.May(openapi.Null) || w.Always() {
			t.Errorf("%s: nullable, it cannot be missing", name)
		}
		if w := v.Nullable().Present(); w.Kinds != 0 && w.Kinds&openapi.Null != 0 {
			t.Errorf("%s: present, it is missing", name)
		}
	}
}

// lookedUp is what a test compares of Lookup.
type lookedUp struct {
	Kinds    openapi.JSONTypes
	Known    bool
	Step     string
	Optional []string
}

func TestLookup(t *testing.T) {
	all := examples()
	for of, want := range map[[2]string]lookedUp{
		{"spec", "image"}:        {openapi.String, true, ".spec.image", nil},
		{"spec", "port"}:         {openapi.Integer | openapi.Null, true, ".spec.port", []string{".spec.port"}},
		{"spec", "prot"}:         {},
		{"dict", "a"}:            {openapi.String, true, "", nil},
		{"dict", "b"}:            {},
		{"values", "a"}:          {openapi.List, true, ".values.a", nil},
		{"values", "b"}:          {openapi.Null, false, ".values.b", nil},
		{"map", "a"}:             {0, true, "", nil},
		{"anything", "whatever"}: {0, true, "", nil},
	} {
		v, known := all[of[0]].Lookup(of[1])
		got := lookedUp{v.Kinds, known, v.Origin.Step(), v.Optional}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", of, diff)
		}
	}
}

// TestFieldOfOptionalMapIsOptional holds that a key of a map that may be missing may be missing, and says which step that is.
func TestFieldOfOptionalMapIsOptional(t *testing.T) {
	v := examples()["spec"].Nullable()
	w := *v
	w.Optional = []string{".spec"}
	found, _ := w.Lookup("image")
	if got := w.Reached(found, Place{}); got.Kinds != openapi.String|openapi.Null || !cmp.Equal(got.Optional, []string{".spec"}) {
		t.Errorf("%s, %v", got.Kinds.Words(), got.Optional)
	}
}

func TestEachAndRangeKey(t *testing.T) {
	v, _ := examples()["values"].Lookup("a")
	if each := v.Each(); each.Kinds != openapi.Integer || each.Literal != nil || each.Origin.Step() != ".values.a[]" {
		t.Errorf("an item of .values.a is %s (%v) from %s", each.Kinds.Words(), each.Literal, each.Origin.Step())
	}
	if key := v.RangeKey(); key.Kinds != openapi.Integer {
		t.Errorf("the position in a list is %s", key.Kinds.Words())
	}
	growing := &Value{Kinds: openapi.List, Item: Literal("a"), Grows: true}
	if each := growing.Each(); each != Anything {
		t.Errorf("an item of a list that grows is %s", each.Kinds.Words())
	}
}

func TestEqualValuesAreTheSame(t *testing.T) {
	for a, v := range examples() {
		for b, w := range examples() {
			// Two values of the same spec.values are told by their origins; all else is compared.
			if got := v.Same(w, 3); got != (a == b) && a != "spec" && a != "anything" {
				t.Errorf("%s and %s: %v", a, b, got)
			}
		}
	}
}

func TestLiteralsAreOrderedLikeInTemplates(t *testing.T) {
	for of, want := range map[[2]any][2]any{
		{"a", "b"}:      {-1, true},
		{int64(2), 1.5}: {1, true},
		{1.0, int64(1)}: {0, true},
		{true, true}:    {0, true},
		{true, false}:   {1, true},
		{"1", int64(1)}: {0, false},
		{nil, nil}:      {0, false},
	} {
		if order, known := Compare(of[0], of[1]); order != want[0] || known != want[1] {
			t.Errorf("%v: %d, %v", of, order, known)
		}
	}
}
