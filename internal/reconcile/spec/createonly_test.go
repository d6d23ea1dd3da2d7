package spec

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestInvalidCreateOnlyFieldsAreRejected(t *testing.T) {
	const (
		at       = "spec.children[a].createOnlyFields"
		metadata = ": in metadata, only single labels and annotations can belong to other clients, such as metadata.annotations['example.org/owner']"
		overlap  = "[1]: another path of the list is equal to it, contains it, or is part of it: remove the longer one"
	)
	for why, row := range map[string]struct {
		paths    []string
		strategy v1.UpdateStrategyType
		want     string
	}{
		"fields of the spec":         {paths: []string{"spec.replicas", ".spec.paused", "data"}},
		"an annotation":              {paths: []string{"metadata.annotations['a.b/c']", "metadata.labels.x"}, strategy: v1.UpdateRecreate},
		"no path":                    {paths: []string{"spec..replicas"}, want: at + "[0]: must be a path such as status.phase or metadata.labels['a.b/c']"},
		"only dots":                  {paths: []string{"."}, want: at + "[0]: must be a path such as status.phase or metadata.labels['a.b/c']"},
		"the name":                   {paths: []string{"metadata.name"}, want: at + "[0]" + metadata},
		"all labels":                 {paths: []string{"spec.replicas", "metadata.labels"}, want: at + "[1]" + metadata},
		"the kind":                   {paths: []string{"kind"}, want: at + "[0]: kind cannot belong to other clients: list fields such as spec.replicas"},
		"the status":                 {paths: []string{"status.phase"}, want: at + "[0]: status cannot belong to other clients: list fields such as spec.replicas"},
		"a part of another path":     {paths: []string{"spec.a", "spec.a.b"}, want: at + overlap},
		"a path that contains other": {paths: []string{"spec.a.b", "spec"}, want: at + overlap},
		"without updates":            {paths: []string{"spec.a"}, strategy: v1.UpdateCreateOnly, want: at + ": has no effect with type CreateOnly, which never updates objects: remove it"},
	} {
		t.Run(why, func(t *testing.T) {
			s := specWith("{}", "x")
			s.Children[0].CreateOnlyFields, s.Children[0].UpdateStrategy.Type = row.paths, row.strategy
			got := ""
			if _, r := Compile("tc", s); r != nil {
				got = r.Message
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
