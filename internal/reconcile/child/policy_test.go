package child

import "testing"

func TestEntryOfAChildIsTheOneThatWantsIt(t *testing.T) {
	all := Entries{{Name: "g"}, {Name: "h"}}
	from := packed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	for why, row := range map[string]struct {
		l    *Live
		want string
	}{
		"another one wants it": {&Live{Object: from, Wanted: &Wanted{Entry: &all[1]}}, "h"},
		"nobody wants it":      {&Live{Object: from, MadeFrom: "g"}, "g"},
	} {
		if got := all.Of(row.l); got == nil || got.Name != row.want {
			t.Errorf("%s: %v, want %s", why, got, row.want)
		}
	}
}
