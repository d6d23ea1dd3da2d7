package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSteadyChildren(t *testing.T) {
	parent := func(kind string) ParentID { return ParentID{kind, "chaos-a", "p"} }
	edited := func(shape string, edit func(*Controller)) Action {
		c := NewWorld("hush").Controllers[shape]
		edit(&c)
		return Action{Verb: SetController, Shape: shape, Controller: c}
	}
	gone := func(shape string, edit func(*Controller)) Action {
		a := edited(shape, edit)
		a.Verb, a.Controller.Absent = RemoveController, true
		return a
	}
	replaced := func(shape string) Action {
		a := edited(shape, func(*Controller) {})
		a.Verb = ReplaceController
		return a
	}
	many, again, report, engine := "configmaps chaos-a/many-p-0", "configmaps chaos-a/again-p-0", "configmaps chaos-a/report-p", "configmaps chaos-a/engine-p"
	secret, kept := "secrets chaos-a/many-p", "configmaps chaos-a/report-p-kept-"
	for why, row := range map[string]struct {
		kind    string
		actions []Action
		want    []string
	}{
		"no action": {"Many", nil, []string{many, secret}},
		"names, order and policies do not change content": {"Again", []Action{
			edited(Again, func(c *Controller) { c.Entry, c.Swapped, c.Unpruned = "maps", true, true }),
		}, []string{again}},
		"Recreate replaces changed content": {"Again", []Action{edited(Again, func(c *Controller) { c.Edition++ })}, nil},
		"Recreate for a short time": {"Again", []Action{
			edited(Again, func(c *Controller) { c.Edition++ }), edited(Again, func(*Controller) {}),
		}, nil},
		"Recreate after suspension":                 {"Again", []Action{edited(Again, func(c *Controller) { c.Suspended = true })}, nil},
		"Apply changes in place":                    {"Many", []Action{edited(Many, func(c *Controller) { c.Edition++ })}, []string{many, secret}},
		"broken templates keep children":            {"Many", []Action{edited(Many, func(c *Controller) { c.Broken = true })}, []string{many, secret}},
		"parent replaced":                           {"Many", []Action{{Verb: ReplaceParent, ID: parent("Many"), Parent: Parent{Count: 1}}}, nil},
		"another client deletes the child":          {"Many", []Action{{Verb: DeleteChild, Child: ChildID{"configmaps", "chaos-a", "many-p-0"}}}, []string{secret}},
		"parent stops matching":                     {"Many", []Action{edited(Many, func(c *Controller) { c.Selective = true })}, nil},
		"parent stops matching, prunePolicy Orphan": {"Many", []Action{edited(Many, func(c *Controller) { c.Selective, c.Unpruned = true, true })}, []string{many}},
		"parent stops matching, child template renamed": {"Many", []Action{
			edited(Many, func(c *Controller) { c.Selective, c.Unpruned, c.Entry = true, true, "maps" }),
		}, nil},
		"TemplateController deleted without children":  {"Many", []Action{gone(Many, func(*Controller) {})}, []string{many, secret}},
		"TemplateController deleted with its children": {"Many", []Action{gone(Many, func(c *Controller) { c.Purge = true })}, nil},
		"TemplateController deleted after a policy change": {"Again", []Action{
			edited(Again, func(c *Controller) { c.Unpruned, c.Purge = true, true }), gone(Again, func(c *Controller) { c.Unpruned, c.Purge = true, true }),
		}, nil},
		"TemplateController restored after its children were deleted": {"Many", []Action{
			edited(Many, func(c *Controller) { c.Purge = true }), replaced(Many),
		}, nil},
		"deletionPolicy Orphan has no effect while the parent exists": {"Report", []Action{edited(Report, func(c *Controller) { c.Keep = true })}, []string{report, kept}},
		"restarted engine":                {"Engine", []Action{{Verb: SetParent, ID: parent("Engine"), Parent: Parent{Count: 2}}}, nil},
		"finished engine":                 {"Engine", []Action{{Verb: SetParent, ID: parent("Engine"), Parent: Parent{Count: 1, Text: "t"}}}, []string{engine}},
		"another client resets an engine": {"Engine", []Action{{Verb: SpoilStatus, ID: parent("Engine")}}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			w := NewWorld("hush")
			w.Parents[parent(row.kind)] = Parent{Count: 1}
			d := &drawer{
				Rand: rand.New(rand.NewPCG(1, 0)), world: w, kind: row.kind, slow: quick,
				steady: w.fates(row.kind), changed: map[string]bool{}, renamed: map[string]bool{}, purged: map[string]bool{},
			}
			for _, a := range row.actions {
				d.add(a)
			}
			var got []string
			for id := range d.steady {
				got = append(got, id.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("steady children (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnchangedChildrenOfInactiveController has an engine that was changed while its TemplateController was inactive: it
// starts again later.
func TestUnchangedChildrenOfInactiveController(t *testing.T) {
	id := ParentID{"Engine", "chaos-a", "p"}
	w := NewWorld("hush")
	w.Parents[id] = Parent{Count: 1}
	c := w.Controllers[Engine]
	c.Unpruned, c.Broken = true, true
	w.Controllers[Engine] = c
	d := &drawer{
		Rand: rand.New(rand.NewPCG(1, 0)), world: w, kind: id.Kind, slow: quick,
		steady: w.fates(id.Kind), idle: w.frozen(), changed: w.frozen(), renamed: w.frozen(), purged: map[string]bool{},
	}
	c.Broken = false
	d.add(Action{Verb: SetController, Shape: Engine, Controller: c})
	if len(d.steady) > 0 {
		t.Errorf("steady children of an engine that can start again: %v, want none", d.steady)
	}
}

// A child whose child template was renamed while it was not desired keeps its original policy, which is unknown.
func TestSteadyChildrenWithoutPruning(t *testing.T) {
	id := ParentID{"Engine", "chaos-a", "p"}
	for name, renamed := range map[string]bool{"an entry of the same name": false, "an entry of another name": true} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld("hush")
			w.Parents[id] = Parent{Count: 1}
			c := w.Controllers[Engine]
			c.Unpruned = true
			w.Controllers[Engine] = c
			d := &drawer{
				Rand: rand.New(rand.NewPCG(1, 0)), world: w, kind: id.Kind, slow: quick,
				steady: w.fates(id.Kind), changed: map[string]bool{}, renamed: map[string]bool{Engine: renamed}, purged: map[string]bool{},
			}
			d.add(Action{Verb: SetParent, ID: id, Parent: Parent{Count: 1, Text: "on its place"}})
			if len(d.steady) != 1 {
				t.Errorf("steady children of an engine that stays where it is: %v, want one", d.steady)
			}
			d.add(Action{Verb: SetParent, ID: id, Parent: Parent{Count: 2}})
			if stays := len(d.steady) == 1; stays == renamed {
				t.Errorf("the child of an engine that starts again stays: %v, want %v", stays, !renamed)
			}
		})
	}
}
