package spec

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestMaxUnavailable(t *testing.T) {
	for most, want := range map[intstr.IntOrString][2]int{ // of 10 and of 3 objects
		intstr.FromInt32(1):       {1, 1},
		intstr.FromInt32(4):       {4, 4},
		intstr.FromString("25%"):  {2, 1},
		intstr.FromString("1%"):   {1, 1},
		intstr.FromString("99%"):  {9, 2},
		intstr.FromString("100%"): {10, 3},
	} {
		r := &v1.RollingUpdate{MaxUnavailable: &most}
		if got := [2]int{MaxUnavailable(r, 10), MaxUnavailable(r, 3)}; got != want {
			t.Errorf("%s: got %v, want %v", most.String(), got, want)
		}
	}
	if got := MaxUnavailable(&v1.RollingUpdate{}, 10); got != 1 {
		t.Errorf("without a number: %d, want 1", got)
	}
}

// TestInvalidRolloutsAreRejected covers older CRDs, which do not reject these values.
func TestInvalidRolloutsAreRejected(t *testing.T) {
	const (
		strategy = "spec.children[a].updateStrategy: rollingUpdate requires type Apply or Recreate: CreateOnly and OnDelete never update objects"
		number   = "spec.children[a].updateStrategy.rollingUpdate.maxUnavailable: must be a number from 1 to 2000, or a percentage from 1% to 100%"
	)
	compiled := func(u v1.UpdateStrategy, most *intstr.IntOrString) string {
		s := specWith("{}", "x")
		u.RollingUpdate = &v1.RollingUpdate{MaxUnavailable: most}
		s.Children[0].UpdateStrategy = u
		if _, r := Compile("tc", s); r != nil {
			return string(r.Reason) + " " + r.Message
		}
		return ""
	}
	for kind, want := range map[v1.UpdateStrategyType]string{
		"": "", v1.UpdateApply: "", v1.UpdateRecreate: "",
		v1.UpdateCreateOnly: "InvalidSpec " + strategy, v1.UpdateOnDelete: "InvalidSpec " + strategy,
	} {
		if got := compiled(v1.UpdateStrategy{Type: kind}, nil); got != want {
			t.Errorf("type %q: got %q, want %q", kind, got, want)
		}
	}
	if most, percent, ok := readMost(&v1.RollingUpdate{}); most != 1 || percent || !ok {
		t.Errorf("where nothing is said: %d, a percentage %v, fine %v", most, percent, ok)
	}
	few := intstr.FromString("few")
	s := specWith("{}", "x")
	s.Children[0].UpdateStrategy = v1.UpdateStrategy{Type: v1.UpdateCreateOnly, RollingUpdate: &v1.RollingUpdate{MaxUnavailable: &few}}
	if _, r := Compile("tc", s); r == nil || len(r.Findings) != 1 {
		t.Errorf("of a strategy that has no rollout, its number is told of, too: %+v", r)
	}
	for most, fine := range map[intstr.IntOrString]bool{
		intstr.FromInt32(1): true, intstr.FromInt32(2000): true, intstr.FromString("1%"): true, intstr.FromString("100%"): true,
		intstr.FromInt32(0): false, intstr.FromInt32(-1): false, intstr.FromInt32(2001): false,
		intstr.FromString("0%"): false, intstr.FromString("101%"): false, intstr.FromString("-5%"): false, intstr.FromString("05%"): false,
		intstr.FromString("2.5%"): false, intstr.FromString("%"): false, intstr.FromString(""): false, intstr.FromString("few"): false, intstr.FromString("5"): false,
		intstr.FromString("99999999999999999999%"): false,
	} {
		want := ""
		if !fine {
			want = "InvalidSpec " + number
		}
		if got := compiled(v1.UpdateStrategy{}, &most); got != want {
			t.Errorf("maxUnavailable %q: got %q, want %q", most.String(), got, want)
		}
	}
	s = specWith("{}", "x")
	s.Finalize = &v1.Finalize{Children: []v1.Child{{Name: "b", Template: "x", UpdateStrategy: v1.UpdateStrategy{Type: v1.UpdateOnDelete, RollingUpdate: &v1.RollingUpdate{}}}}}
	if _, r := Compile("tc", s); r == nil || r.Message != strings.Replace(strategy, "spec.children[a]", "spec.finalize.children[b]", 1) {
		t.Errorf("before a parent goes: got %+v", r)
	}
}
