package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKillDuringParentCreationRecovers(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const parents = 200
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(oneConfigMap)
	start, seen := mark(t), record(t, s.in(configMaps), "templater.dev/controller="+s.id)
	created := make(chan error, 1)
	go func() { created <- createMany(t.Context(), s.things(), parents, s.numbered) }()
	eventually(t, soon, func() error {
		if n := len(s.list(s.in(configMaps), "templater.dev/controller=@id")); n < parents/4 {
			return fmt.Errorf("%d children so far", n)
		}
		return nil
	})
	op.Kill()
	at := uids(s.list(s.in(configMaps), "templater.dev/controller=@id"))
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	if len(at) == parents {
		t.Error("the operator was done before it was killed: the test shows nothing")
	}
	t.Logf("killed when %d of %d children were there", len(at), parents)

	again := startOperator(t)
	s.waitChildren(configMaps, parents)
	eventually(t, soon, func() error {
		for _, o := range s.list(s.things(), "") {
			if err := ready(&o); err != nil {
				return err
			}
		}
		return nil
	})
	again.quiet(time.Second)
	want := map[string]bool{}
	for i := range parents {
		want[fmt.Sprintf("p-%d", i)] = true
	}
	got := map[string]bool{}
	children := s.list(s.in(configMaps), "templater.dev/controller=@id")
	owners := uids(s.list(s.things(), ""))
	for _, o := range children {
		got[o.GetName()] = true
		if refs := o.GetOwnerReferences(); len(refs) != 1 || string(refs[0].UID) != owners[o.GetName()] {
			t.Errorf("owner references of %s: %v", o.GetName(), refs)
		}
		if before, ok := at[o.GetName()]; ok && before != string(o.GetUID()) {
			t.Errorf("%s was made twice", o.GetName())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	// The audit log has a create whose client died as 504, whether it succeeded or not.
	requests := tally(again.writes(start))
	t.Logf("writes of both runs: %v", requests)
	answered, unknown := requests["patch configmaps 201"], requests["patch configmaps 504"]
	if answered > parents || answered+unknown < parents {
		t.Errorf("%d children were created, and perhaps %d more, want %d", answered, unknown, parents)
	}
	eventually(t, soon, func() error {
		if n := len(comesAndGoes(seen)); n < parents {
			return fmt.Errorf("the watch has seen %d children", n)
		}
		return nil
	})
	events := comesAndGoes(seen)
	t.Logf("a watch saw %d children come or go", len(events))
	if len(events) != parents || slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "-") }) {
		t.Errorf("watch events %v, want %d created and none deleted", events, parents)
	}
}
