package spec

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render"
)

// specWith returns a spec with values and one child template.
func specWith(values, template string) *v1.TemplateControllerSpec {
	return &v1.TemplateControllerSpec{
		Watch:    v1.Watch{APIVersion: "v1", Kind: "ConfigMap"},
		Values:   &apiextensionsv1.JSON{Raw: []byte(values)},
		Children: []v1.Child{{Name: "a", Template: template}},
	}
}

// TestIntegersInValuesStayIntegers ensures that integers are not converted to floats, because range and integer functions need them.
func TestIntegersInValuesStayIntegers(t *testing.T) {
	c, r := Compile("tc", specWith(
		`{"count": 2, "big": 9007199254740993, "least": -9223372036854775808, "half": 0.5, "in": [{"whole": 3}], "none": null}`,
		"apiVersion: v1\nkind: A\n{{ range $i := .values.count }}k{{ $i }}: {{ $.values.big }}\n{{ end }}"+
			"l: {{ .values.least }}\nh: {{ .values.half }}\nw: {{ add (index .values.in 0).whole 1 }}\nx: {{ .values.in }}\n"))
	if r != nil {
		t.Fatal(r.Message)
	}
	objects, err := c.Program.Child("a", &render.Input{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "A", "k0": int64(9007199254740993), "k1": int64(9007199254740993), "l": int64(-9223372036854775808), "h": 0.5,
		"w": int64(4), "x": []any{map[string]any{"whole": int64(3)}},
	}
	if diff := cmp.Diff(want, objects[0].Content); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
}

// TestInvalidValuesAreRejected expects the path of numbers that templates cannot represent.
func TestInvalidValuesAreRejected(t *testing.T) {
	const tooLarge = ": an integer does not fit in 64 bits; quote it to make it a string"
	for values, want := range map[string]string{
		`[]`:                         "spec.values is not a mapping",
		`{"a": `:                     "spec.values is not a mapping",
		`{"a": 9223372036854775808}`: "spec.values.a" + tooLarge,
		`{"b": {"c": [1, {"d": -1` + strings.Repeat("0", 30) + `}]}}`: "spec.values.b.c[1].d" + tooLarge,
		`{"a.b/c": {"": 18446744073709551615}}`:                       "spec.values['a.b/c']['']" + tooLarge,
		`{"a": 1e400}`:                                                "spec.values.a: a number is too large",
		`{"a\nb": 1e400}`:                                             "spec.values.a b: a number is too large",
		`{"` + strings.Repeat("a", 40000) + `": 1e400}`:               "spec.values." + strings.Repeat("a", 1011) + "…: a number is too large", // longer paths would not fit into a condition
	} {
		_, r := Compile("tc", specWith(values, "x"))
		if r == nil || r.Reason != v1.ReasonInvalidSpec || r.Message != want {
			t.Errorf("%s: got %+v, want %s", values, r, want)
		}
	}
}

func TestResyncPeriods(t *testing.T) {
	const form = "spec.resyncPeriod: must be a duration such as 90s or 1h30m, with the units h, m, s and ms, or 0s for never"
	const short = "spec.resyncPeriod: must be at least 1s, or 0s for never"
	for text, want := range map[string]any{
		"": time.Duration(0), "0s": time.Duration(0), "0h": time.Duration(0), "1s": time.Second, "1000ms": time.Second,
		"1h30m": 90 * time.Minute, "1s500ms": 1500 * time.Millisecond,
		"999ms": short, "1ms": short,
		"-1s": form, "1.5s": form, "10": form, "5us": form, "1d": form, "0": form, "1m1m1m1m1m": form, "100000s": form, " 1s": form,
	} {
		spec := specWith("{}", "x")
		spec.ResyncPeriod = text
		c, r := Compile("tc", spec)
		if message, refused := want.(string); refused {
			if r == nil || r.Reason != v1.ReasonInvalidSpec || r.Message != message {
				t.Errorf("%q: got %+v, want %s", text, r, message)
			}
			continue
		}
		if r != nil || c.Resync != want {
			t.Errorf("%q: got %+v, want %s", text, r, want)
		}
	}
}

// TestCompileParsesRejectedSpecOnce counts the pauses, one for each node of a template: a spec that is compiled twice has twice as many.
func TestCompileParsesRejectedSpecOnce(t *testing.T) {
	build := func() *v1.TemplateControllerSpec {
		s := specWith("{}", strings.Repeat("{{ .metadata.name }}", 100))
		s.Helpers = `{{ define "x" }}` + strings.Repeat("{{ . }}", 100) + `{{ end }}`
		s.Children = append(s.Children, v1.Child{Name: "b", Template: strings.Repeat(`{{ include "x" . }}`, 100)})
		return s
	}
	pauses := func(s *v1.TemplateControllerSpec) (n int, rejected bool) {
		_, r, _ := CompileWith(func() error { n++; return nil }, "tc", s)
		return n, r != nil
	}
	most, rejected := pauses(build())
	if rejected || most < 300 {
		t.Fatalf("%d pauses, rejected %v: the test proves nothing", most, rejected)
	}
	for why, change := range map[string]func(*v1.TemplateControllerSpec){
		"a field":          func(s *v1.TemplateControllerSpec) { s.ResyncPeriod = "1d" },
		"an unknown name":  func(s *v1.TemplateControllerSpec) { s.Children[0].Template += "{{ foo }}" },
		"the helpers":      func(s *v1.TemplateControllerSpec) { s.Helpers += "{{ end }}" },
		"a helper in use":  func(s *v1.TemplateControllerSpec) { s.Helpers += `{{ define "y" }}{{ foo }}{{ end }}` },
		"an unknown block": func(s *v1.TemplateControllerSpec) { s.Children[0].Template += `{{ include "y" . }}` },
	} {
		t.Run(why, func(t *testing.T) {
			s := build()
			change(s)
			const changed = 20 // the fault adds nodes, and its position is searched for
			if n, rejected := pauses(s); !rejected || n > most+changed {
				t.Errorf("%d pauses, rejected %v, want at most %d", n, rejected, most+changed)
			}
		})
	}
}
