package model

import "testing"

func TestRejectedSpecRunsLastRevision(t *testing.T) {
	edit := func(verb Verb, entry string, change func(*Controller)) func(*World) {
		return func(w *World) {
			c := Controller{Revision: Revision{Entry: entry}}
			change(&c)
			w.Apply(Action{Verb: verb, Shape: Many, Controller: c})
		}
	}
	accepted, rejected := func(*Controller) {}, func(c *Controller) { c.Broken = true }
	suspended, deleted := func(c *Controller) { c.Suspended = true }, func(c *Controller) { c.Absent = true }
	settle, wipe := (*World).Settle, func(w *World) { w.Apply(Action{Verb: WipeController, Shape: Many}) }
	for why, row := range map[string]struct {
		steps []func(*World)
		want  string // the child template of the revision that runs; "" = unknown, or none
	}{
		"accepted":                       {[]func(*World){edit(SetController, "a", accepted)}, "a"},
		"rejected before it ran":         {[]func(*World){edit(SetController, "a", rejected)}, ""},
		"rejected after it ran":          {[]func(*World){settle, edit(SetController, "a", rejected)}, "config"},
		"rejected after an edit":         {[]func(*World){settle, edit(SetController, "a", accepted), edit(SetController, "b", rejected)}, ""},
		"rejected in the next round":     {[]func(*World){settle, edit(SetController, "a", accepted), settle, edit(SetController, "b", rejected)}, "a"},
		"rejected twice":                 {[]func(*World){settle, edit(SetController, "a", rejected), settle, edit(SetController, "b", rejected)}, "config"},
		"edited while it was suspended":  {[]func(*World){settle, edit(SetController, "a", suspended), settle, edit(SetController, "b", rejected)}, "config"},
		"its status was removed":         {[]func(*World){settle, wipe, edit(SetController, "a", rejected)}, "config"},
		"rejected when it was recreated": {[]func(*World){settle, edit(ReplaceController, "a", rejected)}, ""},
		"rejected when it was restored":  {[]func(*World){settle, edit(RemoveController, "a", deleted), edit(SetController, "b", rejected)}, ""},
	} {
		t.Run(why, func(t *testing.T) {
			w := NewWorld("hush")
			for _, step := range row.steps {
				step(w)
			}
			c := w.Running(Many)
			if got := c.Entry; c.Broken != (row.want == "") || row.want != "" && got != row.want {
				t.Errorf("it runs %q, rejected %t; want %q", got, c.Broken, row.want)
			}
		})
	}
}
