package reconcile

import "testing"

func TestDisabledTracesAllocateNothing(t *testing.T) {
	r, ctx := &Reconciler{}, t.Context()
	if n := testing.AllocsPerRun(100, func() { r.spanOfRender(ctx, "children").End() }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
