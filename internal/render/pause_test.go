package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/document"
)

func TestRenderingPausesRegularly(t *testing.T) {
	items := make([]any, 10_000)
	for i := range items {
		items[i] = int64(i)
	}
	const head = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
	for what, row := range map[string]struct {
		template string
		atLeast  int
	}{
		"little work":            {head, 0},
		"loops":                  {head + "{{ range 1000 }}{{ range 200 }}{{ end }}{{ end }}", 60},
		"calls":                  {head + "{{ range 200 }}{{ $x := len (until 800) }}{{ end }}", 30},
		"much text to be parsed": {head + "data:\n{{ range .parent.items }}  k{{ . }}: a\n{{ end }}", 100},
		"a value to be parsed":   {head + "{{ $x := fromYaml .parent.text }}", 30},
		"many objects":           {"{{ range 1900 }}\n---\n" + head + "{{ end }}", 30},
	} {
		p := programOf(t, row.template)
		in := &Input{Parent: map[string]any{"items": items, "text": strings.Repeat("a b c d\n", 4000)}}
		n := 0
		in.Pause = func() error { n++; return nil }
		paused, err := p.Child("x", in)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n < row.atLeast || row.atLeast == 0 && n > 2 {
			t.Errorf("%s: %d pauses, want at least %d", what, n, row.atLeast)
		}
		in.Pause = nil
		if plain, err := p.Child("x", in); err != nil || fmt.Sprint(plain) != fmt.Sprint(paused) {
			t.Errorf("%s: without pauses it yields something else, or %v", what, err)
		}
		stop := errors.New("stop")
		for last := range min(n, 4) {
			at := 0
			in.Pause = func() error {
				if at++; at > last {
					return stop
				}
				return nil
			}
			p.children["x"].shapes = document.Shapes{}
			if _, err := p.Child("x", in); err == nil || at != last+1 {
				t.Errorf("%s: the error of pause %d: %v after %d", what, last+1, err, at)
				break
			}
		}
	}
}
