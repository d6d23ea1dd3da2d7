package controllers

import "testing"

// TestASpecIsCompiledOncePerChange counts compilations. That one of a rejected spec is no more than one of an accepted one is shown by
// TestARejectedSpecIsCompiledOnce of package spec.
func TestASpecIsCompiledOncePerChange(t *testing.T) {
	c := newCluster(t)
	compiled := c.compilations()
	for _, row := range []struct {
		why  string
		do   func()
		want int
	}{
		{"a new spec", func() { c.KubectlApply(apps); c.KubectlApply(app) }, 1},
		{"a resync of an accepted spec", func() { c.controllers.queue.Add("apps") }, 0},
		{"a parent changes", func() { c.KubectlApply(newApp(withChildren("a", "b", "c"))) }, 0},
		{"a rejected spec", func() { c.KubectlApply(with(t, apps, "  children:\n", "  resyncPeriod: often\n  children:\n")) }, 1},
		{"a resync of a rejected spec", func() { c.controllers.queue.Add("apps") }, 0},
		{"a restart with a rejected spec", func() { c.start(); compiled = c.compilations() }, 1},
		{"another spec", func() { c.KubectlApply(with(t, apps, "  children:\n", "  resyncPeriod: 1h\n  children:\n")) }, 1},
		{"a restart with an accepted spec", func() { c.start(); compiled = c.compilations() }, 1},
		{"this replica leads", func() { c.controllers.Lead() }, 0},
	} {
		t.Run(row.why, func(t *testing.T) {
			clear(compiled)
			row.do()
			c.Settle()
			if got := compiled["apps"]; got != row.want {
				t.Errorf("compiled %d times, want %d", got, row.want)
			}
		})
	}
}
