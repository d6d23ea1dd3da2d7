package signature

import (
	"testing"

	"github.com/templater-dev/templater/internal/render/funcs"
)

func TestEachFunctionHasASignature(t *testing.T) {
	there := map[string]bool{}
	for _, f := range funcs.All() {
		if f.Refused != "" {
			continue
		}
		there[f.Name] = true
		s := signatures[f.Name]
		if s == nil {
			t.Errorf("%s has no row in table", f.Name)
			continue
		}
		if len(s.params) > f.Max && f.Max >= 0 {
			t.Errorf("%s takes at most %d arguments, not %d", f.Name, f.Max, len(s.params))
		}
		for i := range max(f.Min, len(s.params)) {
			if p := s.Param(i); p.Nil && !f.Nil {
				t.Errorf("%s: argument %d may not be missing", f.Name, i+1)
			}
		}
	}
	for name := range signatures {
		if !there[name] {
			t.Errorf("there is no function %s", name)
		}
	}
}
