package render

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/token"
)

// TestPooledExecutionsHoldNoData looks at what an execution keeps for the next one: memory, but none of the data in it.
func TestPooledExecutionsHoldNoData(t *testing.T) {
	for _, text := range []string{
		`{{ $x := .spec.a }}{{ upper (print $x (list 1 .spec.a | join ",")) }}{{ range $i, $v := list 1 2 }}{{ $y := $v }}{{ end }}`,
		`{{ $x := .spec.a }}{{ print 1 (upper .spec.a) (fail .spec.a) }}`,
		`{{ define "t" }}{{ fail .spec.a }}{{ end }}{{ range $x := list 1 2 }}{{ print $x (include "t" $) }}{{ end }}`,
		`{{ regexMatch "a" .spec.a }}{{ .observed }}{{ .parent }}{{ .metadata }}`,
	} {
		p := programOf(t, text)
		u := p.children["x"]
		x := p.start(u, &Input{Parent: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "spec": map[string]any{"a": "secret"}}})
		_ = x.invoke("", &x.view.Root)
		p.finish(x)
		for what, all := range map[string]any{"arguments": x.args[:cap(x.args)], "variables": x.vars[:cap(x.vars)], "pieces": x.out.pieces[:cap(x.out.pieces)]} {
			for i, v := 0, reflect.ValueOf(all); i < v.Len(); i++ {
				if !v.Index(i).IsZero() {
					t.Errorf("%s\n%s hold %v", text, what, v.Index(i))
				}
			}
		}
		if x.unit != nil || x.in != nil || x.src != nil || x.place != nil || x.Patterns != nil || x.depth != 0 || len(x.vars) > 0 || !reflect.ValueOf(x.view).IsZero() || len(x.out.buf) > 0 {
			t.Errorf("%s\nleft: %+v", text, x)
		}
	}
}

// TestLargeExecutionsAreNotPooled has what is as large as is kept, and larger.
func TestLargeExecutionsAreNotPooled(t *testing.T) {
	p := programOf(t, "")
	for why, row := range map[string]struct {
		out, pieces int
		tokens      int // at least
		kept        bool
	}{
		"small": {0, 0, 0, true}, "as large as may be": {64 << 10, 8 << 10, 10, true},
		"much output": {64<<10 + 1, 0, 0, false}, "many pieces": {0, 8<<10 + 1, 0, false}, "many tokens": {0, 0, 8<<10 + 1, false},
	} {
		x := p.start(p.children["x"], &Input{})
		x.out.buf, x.out.pieces = make([]byte, 0, row.out), make([]piece, 0, row.pieces)
		for range row.tokens {
			_ = x.Add(nil, "a", token.AsIs)
		}
		p.finish(x)
		if kept := x.unit == nil; kept != row.kept {
			t.Errorf("%s: kept is %v", why, kept)
		}
	}
}

// TestPanicsAreReportedWithPosition names the place in our code alone, and in the template if that is known.
func TestPanicsAreReportedWithPosition(t *testing.T) {
	p := programOf(t, "a: {{ ready . }}")
	_, err := p.Child("x", &Input{Ready: func(map[string]any) bool { panic("secret") }})
	want := regexp.MustCompile(`^children\[x\]:1:7: internal error: the renderer panicked at (finish_test|object)\.go:[0-9]+; please report this template$`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
	if x, _ := p.pool.Get().(*exec); x != nil {
		t.Error("the execution that panicked is kept")
	}
	if got := panicSite(); got != "an unknown place" {
		t.Errorf("no panic: at %s", got)
	}
	x := p.start(p.children["x"], &Input{})
	if got := x.panicked("a.go:1").Error(); got != "children[x]: internal error: the renderer panicked at a.go:1; please report this template" {
		t.Errorf("no action: %s", got)
	}
	x.place, x.src = x.unit.Body(), nil
	if got := x.panicked("a.go:1").Error(); !strings.HasPrefix(got, "children[x]: internal") {
		t.Errorf("no text: %s", got)
	}
}
