package syntax

import "testing"

func TestDefinitionsAreFoundByName(t *testing.T) {
	all, err := Parse(Source{Helpers: `{{ define "shared" }}{{ end }}`, Status: `{{ define "own" }}{{ end }}a: 1`})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"": "status", "own": "status", "shared": "helpers", "other": ""} {
		def, found := all.Status.Lookup(name)
		if found != (text != "") || found && def.Text.Name != text {
			t.Errorf("%q: found %v in %v, want it in %q", name, found, def.Text, text)
		}
	}
}
