package main

import (
	"encoding/base64"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/chaos/model"
)

var (
	aReport   = model.ParentID{Kind: "Report", Namespace: "chaos-a", Name: "p"}
	aMany     = model.ParentID{Kind: "Many", Namespace: "chaos-a", Name: "p"}
	reportMap = model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "report-p"}
	keptMap   = model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "report-p-kept-uid-Repo"}
	manyMap   = model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "many-p-0"}
	manyMore  = model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "many-p-1"}
)

func ready(kind, status, reason string) []any {
	return []any{map[string]any{"type": kind, "status": status, "reason": reason, "observedGeneration": int64(1)}}
}

// rightChecker is a cluster that matches its model.
func rightChecker() *checker {
	w := model.NewWorld("hush")
	w.Parents[aReport] = model.Parent{Text: "t"}
	w.Parents[aMany] = model.Parent{Text: "t", Count: 1}
	w.Learn()
	f := &found{
		children:    map[model.ChildID]*unstructured.Unstructured{},
		parents:     map[model.ParentID]*unstructured.Unstructured{},
		controllers: map[string]*unstructured.Unstructured{},
	}
	for id, p := range w.Parents {
		o := &unstructured.Unstructured{Object: p.Manifest(id)}
		o.SetUID(types.UID("uid-" + id.Kind))
		o.SetGeneration(1)
		o.Object["status"] = map[string]any{"conditions": ready("Ready", "True", "Ready")}
		f.parents[id] = o
	}
	status := f.parents[aReport].Object["status"].(map[string]any)
	status["text"], status["total"], status["names"] = "t", int64(1), []any{"report-p"}
	for _, child := range w.Children() {
		f.children[child.ID] = childObject(child, f.parents[child.Parent])
		if child.Unique {
			f.children[keptMap] = f.children[child.ID]
			f.children[keptMap].SetName(keptMap.Name)
			delete(f.children, child.ID)
		}
	}
	for shape, c := range w.Controllers {
		o := &unstructured.Unstructured{Object: c.Manifest(shape)}
		o.SetGeneration(1)
		total := map[string]int64{model.Report: 1, model.Many: 1}[shape]
		o.Object["status"] = map[string]any{
			"conditions": append(ready("Ready", "True", "Ready"), ready("StatusWritable", "True", "StatusWritable")...), "parents": map[string]any{"total": total, "failed": int64(0), "ready": total},
			"children": map[string]any{"total": 2 * total, "ready": 2 * total},
		}
		f.controllers[shape] = o
	}
	return &checker{found: f, world: w, foreign: map[model.ChildID]mark{}, failing: map[model.ParentID]bool{}, counts: true, rested: true}
}

func childObject(child model.Child, parent *unstructured.Unstructured) *unstructured.Unstructured {
	yes := true
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}
	data := map[string]string{}
	for key, value := range child.Data {
		data[key] = value
		if child.ID.Resource == "secrets" {
			o.SetKind("Secret")
			data[key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	_ = unstructured.SetNestedStringMap(o.Object, data, "data") // fails for a value that is not a map
	o.SetName(child.ID.Name)
	o.SetUID(types.UID("uid-" + child.ID.Name))
	o.SetLabels(map[string]string{
		"templater.dev/controller": child.Shape, "templater.dev/child": child.Entry,
		"templater.dev/parent-uid": string(parent.GetUID()), "app.kubernetes.io/managed-by": "templater",
	})
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "templater/" + child.Shape}})
	o.SetOwnerReferences([]metav1.OwnerReference{{Kind: child.Parent.Kind, UID: parent.GetUID(), Controller: &yes}})
	return o
}

// says adds a condition to the TemplateController many.
func (c *checker) says(kind string) {
	status := c.controllers[model.Many].Object["status"].(map[string]any)
	status["conditions"] = append(ready("Ready", "True", "Ready"), ready(kind, "False", "Forbidden")...)
}

// sets sets the counts of a TemplateController.
func (c *checker) sets(shape, of string, counts map[string]any) {
	_ = unstructured.SetNestedMap(c.controllers[shape].Object, counts, "status", of) // fails for a value that is not a map
}

// change changes a TemplateController of the model.
func (c *checker) change(shape string, f func(*model.Controller)) {
	controller := c.world.Controllers[shape]
	f(&controller)
	c.world.Controllers[shape] = controller
}

// whole adds a parent of the kind that also has a Part, which is not ready for that reason, and has no applied
// children.
func (c *checker) whole(reason string) {
	id := model.ParentID{Kind: model.KindOf(model.Whole), Namespace: "chaos-a", Name: "p"}
	c.world.Parents[id] = model.Parent{Text: "t"}
	o := &unstructured.Unstructured{Object: c.world.Parents[id].Manifest(id)}
	o.SetUID("uid-Whole")
	o.SetGeneration(1)
	o.Object["status"] = map[string]any{"conditions": ready("Ready", "False", reason)}
	c.parents[id] = o
	c.sets(model.Whole, "parents", map[string]any{"total": int64(1), "failed": int64(1)})
}

// remembers makes the last check have observed another object of that name.
func (c *checker) remembers(id model.ChildID, uid types.UID) {
	c.before = memories{id: {uid: uid, id: id}}
}

// outlived adds an object whose parent is missing.
func (c *checker) outlived(name string) {
	o := c.children[keptMap].DeepCopy()
	o.SetName(name)
	o.SetOwnerReferences(nil)
	o.SetLabels(map[string]string{"templater.dev/controller": "report", "templater.dev/parent-uid": "gone"})
	c.children[model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: name}] = o
}

// farLeftover adds an object in another namespace whose parent was deleted while there was no TemplateController. The
// present one, which renders a name twice, watches these kinds.
func (c *checker) farLeftover(kinds ...any) {
	id := model.ChildID{Resource: "configmaps", Namespace: model.Far, Name: "wide-chaos-a-p"}
	o := childObject(model.Child{ID: id, Shape: model.Wide, Entry: "far"}, &unstructured.Unstructured{Object: map[string]any{}})
	o.SetLabels(map[string]string{"templater.dev/controller": "wide", "templater.dev/parent-uid": "gone"})
	o.SetOwnerReferences(nil)
	c.children[id] = o
	c.change(model.Wide, func(m *model.Controller) { m.Extra = model.Double })
	c.controllers[model.Wide].Object["status"].(map[string]any)["childKinds"] = kinds
}

// foreignObject adds a foreign object.
func (c *checker) foreignObject(id model.ChildID) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}
	o.SetUID("other-client")
	o.SetResourceVersion("7")
	c.children[id], c.foreign[id] = o, mark{"other-client", "7", ""}
	return o
}

func TestCompareDetectsDifferences(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*checker)
		want   string // part of the error; empty = none
	}{
		"state matches the model":       {func(*checker) {}, ""},
		"a child is missing":            {func(c *checker) { delete(c.children, reportMap) }, "report-p is missing"},
		"a child is being deleted":      {func(c *checker) { now := metav1.Now(); c.children[reportMap].SetDeletionTimestamp(&now) }, "report-p is missing"},
		"a child has other data":        {func(c *checker) { _ = unstructured.SetNestedField(c.children[reportMap].Object, "x", "data", "text") }, `report-p has the data`},
		"a child has an additional key": {func(c *checker) { _ = unstructured.SetNestedField(c.children[reportMap].Object, "x", "data", "old") }, `report-p has the data`},
		"a child has a key of another client": {func(c *checker) {
			_ = unstructured.SetNestedField(c.children[reportMap].Object, "x", "data", foreignKey)
		}, ""},
		"a child has lost its label":               {func(c *checker) { c.children[reportMap].SetLabels(nil) }, "has the labels"},
		"a child has the UID of an earlier parent": {func(c *checker) { c.parents[aReport].SetUID("newer-uid") }, "is not owned by"},
		"an orphan exists": {func(c *checker) {
			c.children[manyMore] = c.children[manyMap].DeepCopy()
			c.children[manyMore].SetOwnerReferences([]metav1.OwnerReference{{UID: "gone"}})
		}, "unexpected configmaps chaos-a/many-p-1"},
		"older data under CreateOnly": {func(c *checker) {
			c.change(model.Report, func(m *model.Controller) { m.Strategy = "CreateOnly" })
			_ = unstructured.SetNestedField(c.children[reportMap].Object, "x", "data", "text")
		}, ""},
		"a child is kept under prunePolicy Orphan": {func(c *checker) {
			c.children[manyMore] = c.children[manyMap]
			c.change(model.Many, func(m *model.Controller) { m.Unpruned = true })
			c.sets(model.Many, "children", map[string]any{"total": int64(3), "ready": int64(3)})
		}, ""},
		"a child of a replaced TemplateController, of a kind that the new one does not render": {func(c *checker) {
			c.children[manyMore] = c.children[manyMap]
			c.world.Parents[aMany] = model.Parent{Text: "t"}
			c.world.Apply(model.Action{Verb: model.ReplaceController, Shape: model.Many, Controller: c.world.Controllers[model.Many]})
			c.sets(model.Many, "children", map[string]any{"total": int64(3), "ready": int64(3)})
		}, ""},
		"the garbage collector lost an orphan of a kind that is not watched": {func(c *checker) {
			c.children[manyMore] = c.children[manyMap].DeepCopy()
			c.children[manyMore].SetOwnerReferences([]metav1.OwnerReference{{UID: "gone"}})
			c.children[manyMore].SetLabels(map[string]string{"templater.dev/controller": "many", "templater.dev/parent-uid": "gone"})
			c.world.Parents[aMany] = model.Parent{Text: "t"}
			c.world.Apply(model.Action{Verb: model.ReplaceController, Shape: model.Many, Controller: c.world.Controllers[model.Many]})
			delete(c.children, manyMap)
			c.sets(model.Many, "children", map[string]any{"total": int64(1), "ready": int64(1)})
		}, ""},
		"the operator is about to collect the child of a missing parent, although a name is given twice": {func(c *checker) {
			c.farLeftover(map[string]any{"kind": "Secret"}, map[string]any{"kind": "ConfigMap"})
		}, "unexpected configmaps chaos-far/wide-chaos-a-p"},
		"it is about to collect one of a kind that it has created for a parent deleted since": {func(c *checker) {
			c.farLeftover(map[string]any{"kind": "ConfigMap"})
			c.change(model.Wide, func(m *model.Controller) { m.Extra = model.NoExtra })
		}, "unexpected configmaps chaos-far/wide-chaos-a-p"},
		"it does not watch the kind of a missing parent's child": {func(c *checker) { c.farLeftover(map[string]any{"kind": "Secret"}) }, ""},
		"a suspended TemplateController collects nothing": {func(c *checker) {
			c.farLeftover(map[string]any{"kind": "ConfigMap"})
			c.change(model.Wide, func(m *model.Controller) { m.Suspended = true })
			c.controllers[model.Wide].Object["status"].(map[string]any)["conditions"] = ready("Ready", "False", "Suspended")
		}, ""},
		"a broken TemplateController collects nothing": {func(c *checker) {
			c.farLeftover(map[string]any{"kind": "ConfigMap"})
			c.change(model.Wide, func(m *model.Controller) { m.Extra, m.Broken = model.NoExtra, true })
			c.controllers[model.Wide].Object["status"].(map[string]any)["conditions"] = append(ready("Accepted", "False", ""), ready("Ready", "False", "")...)
		}, ""},
		"a deleted TemplateController collects nothing": {func(c *checker) {
			c.farLeftover(map[string]any{"kind": "ConfigMap"})
			c.change(model.Wide, func(m *model.Controller) { m.Absent = true })
			delete(c.controllers, model.Wide)
		}, ""},
		"the status includes children kept under prunePolicy Orphan": {func(c *checker) {
			extra := c.children[reportMap].DeepCopy()
			extra.SetName("report-p-extra")
			c.children[model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: "report-p-extra"}] = extra
			c.change(model.Report, func(m *model.Controller) { m.Unpruned = true })
			status := c.parents[aReport].Object["status"].(map[string]any)
			status["total"], status["names"] = int64(2), []any{"report-p", "report-p-extra"}
			c.sets(model.Report, "children", map[string]any{"total": int64(3), "ready": int64(3)})
		}, ""},
		"a child should be pruned under Delete": {func(c *checker) { c.children[manyMore] = c.children[manyMap] }, "unexpected configmaps chaos-a/many-p-1"},
		"a child without its label can be kept": {func(c *checker) {
			c.children[manyMore] = c.children[manyMap].DeepCopy()
			c.children[manyMore].SetLabels(nil)
		}, ""},
		"a suspended TemplateController did nothing": {func(c *checker) {
			c.change(model.Report, func(m *model.Controller) { m.Suspended = true })
			c.controllers[model.Report].Object["status"] = map[string]any{"conditions": ready("Ready", "False", "Suspended")}
			delete(c.children, reportMap)
		}, ""},
		"a foreign object is unchanged and conflicts with a child": {func(c *checker) {
			c.foreignObject(reportMap)
			c.parents[aReport].Object["status"] = map[string]any{"conditions": ready("Ready", "False", "ChildConflict")}
			c.sets(model.Report, "parents", map[string]any{"total": int64(1), "failed": int64(1)})
		}, ""},
		"a rollout stops at a conflict": {func(c *checker) {
			c.world.Parents[aMany] = model.Parent{Text: "t", Count: 2}
			c.children[manyMore] = c.children[manyMap].DeepCopy() // its index is that of the other one
			c.foreignObject(manyMap)
			c.change(model.Many, func(m *model.Controller) { m.Rolls = true })
			c.parents[aMany].Object["status"] = map[string]any{"conditions": ready("Ready", "False", "ChildConflict")}
			c.sets(model.Many, "parents", map[string]any{"total": int64(1), "failed": int64(1)})
		}, ""},
		"a foreign object was changed": {func(c *checker) { c.foreignObject(manyMore).SetResourceVersion("8") }, "was changed"},
		"a foreign object was deleted": {func(c *checker) { c.foreignObject(manyMore); delete(c.children, manyMore) }, "was changed: there is nothing"},
		"the status is outdated": {func(c *checker) {
			_ = unstructured.SetNestedField(c.parents[aReport].Object, "old", "status", "text")
		}, "the status of Report chaos-a/p is"},
		"the condition is of an older generation":      {func(c *checker) { c.parents[aMany].SetGeneration(2) }, "condition Ready of Many chaos-a/p, generation 2"},
		"a child was recreated unnecessarily":          {func(c *checker) { c.remembers(reportMap, "uid-before") }, "report-p was replaced or deleted"},
		"a child was recreated for a reason":           {func(c *checker) { c.remembers(reportMap, "uid-before"); c.round = &model.Round{} }, ""},
		"a child is kept after its parent was deleted": {func(c *checker) { c.outlived(keptMap.Name + "0"); c.before = c.remember() }, ""},
		"a child is missing after its parent was deleted": {func(c *checker) {
			c.outlived(keptMap.Name + "0")
			c.before = c.remember()
			delete(c.children, model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: keptMap.Name + "0"})
		}, "was replaced or deleted"},
		"a child was deleted with its TemplateController": {func(c *checker) {
			c.outlived(keptMap.Name + "0")
			c.before, c.round = c.remember(), &model.Round{Purged: map[string]bool{model.Report: true}}
			delete(c.children, model.ChildID{Resource: "configmaps", Namespace: "chaos-a", Name: keptMap.Name + "0"})
		}, ""},
		"a child with deletionPolicy Orphan has an owner": {func(c *checker) {
			c.change(model.Report, func(m *model.Controller) { m.Keep = true })
		}, "kept-uid-Repo is not owned by"},
		"a TemplateController is deleted, and its children are kept": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Absent = true })
			delete(c.controllers, model.Many)
		}, ""},
		"a TemplateController is deleted, and its children should be, too": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Absent, m.Purge = true, true })
			delete(c.controllers, model.Many)
		}, "unexpected configmaps chaos-a/many-p-0"},
		"a TemplateController is deleted, and its protected children are kept": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Absent, m.Purge, m.Unpruned = true, true, true })
			delete(c.controllers, model.Many)
			delete(c.children, model.ChildID{Resource: "secrets", Namespace: "chaos-a", Name: "many-p"})
		}, ""},
		"a TemplateController was not deleted": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Absent = true })
		}, "TemplateController many exists"},
		"an invalid TemplateController has no Accepted condition": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Broken = true })
		}, "TemplateController /many has no condition Accepted"},
		"duplicate name": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Extra = model.Double })
		}, "want False InvalidChild"},
		"duplicate name after an unserved kind": {func(c *checker) {
			c.change(model.Whole, func(m *model.Controller) { m.Extra, m.Swapped = model.Double, true })
			c.world.NoParts = true
			c.whole("ChildKindNotFound")
		}, ""},
		"duplicate name before an unserved kind": {func(c *checker) {
			c.change(model.Whole, func(m *model.Controller) { m.Extra = model.Double })
			c.world.NoParts = true
			c.whole("ChildKindNotFound")
		}, "want False InvalidChild"},
		"a removed child template had prunePolicy Orphan": {func(c *checker) {
			c.children[manyMore] = c.children[manyMap].DeepCopy()
			c.children[manyMore].SetLabels(map[string]string{"templater.dev/controller": "many", "templater.dev/child": "gone"})
			c.children[manyMore].SetAnnotations(map[string]string{"templater.dev/prune": "Orphan"})
		}, ""},
		"a condition contains data of a parent": {func(c *checker) {
			c.parents[aMany].Object["status"] = map[string]any{"conditions": append(ready("Ready", "True", "Ready"), ready("Other", "not hush", "")...)}
		}, "the condition Other of a Many contains data"},
		"a TemplateController is deleted, and a copy of a child by another client is kept": {func(c *checker) {
			c.change(model.Many, func(m *model.Controller) { m.Absent, m.Purge, m.Unpruned = true, true, true })
			delete(c.controllers, model.Many)
			c.children[model.ChildID{Resource: "secrets", Namespace: "chaos-a", Name: "many-p"}].SetManagedFields(nil)
		}, ""},
		"a rejected write is not reported": {func(c *checker) {
			c.world.Parents[aMany] = model.Parent{Text: "t", Count: 1, Bad: model.BadLabel}
		}, "want False"},
		"a condition of another client is missing": {func(c *checker) {
			c.notes = map[model.ParentID]note{aReport: {"uid-Report", "n"}}
		}, "has no condition Foreign"},
		"a condition of another client is kept": {func(c *checker) {
			c.notes = map[model.ParentID]note{aReport: {"uid-Report", "n"}}
			c.parents[aReport].Object["status"].(map[string]any)[model.NoteField] = "n"
			c.parents[aReport].Object["status"].(map[string]any)["conditions"] = append(ready("Ready", "True", "Ready"), ready(model.ForeignCondition, "True", "")...)
		}, ""},
		"a condition in the status of an earlier parent": {func(c *checker) {
			c.notes = map[model.ParentID]note{aReport: {"uid-before", "n"}}
		}, ""},
		"a blocked TemplateController is ignored": {func(c *checker) {
			c.beside = model.Many
			delete(c.children, manyMap)
			delete(c.parents[aMany].Object, "status")
		}, ""},
		"other TemplateControllers are checked": {func(c *checker) { c.beside = model.Many; delete(c.children, reportMap) }, "report-p is missing"},
		"no condition":                          {func(c *checker) { delete(c.parents[aMany].Object, "status") }, "Many chaos-a/p has no condition Ready"},
		"a count is wrong": {func(c *checker) {
			_ = unstructured.SetNestedField(c.controllers[model.Many].Object, int64(3), "status", "parents", "total")
		}, "TemplateController many counts 3 parents total, want 1"},
		"a parent counts as ready too late": {func(c *checker) {
			c.sets(model.Many, "parents", map[string]any{"total": int64(1)})
		}, "TemplateController many counts 0 parents ready, want 1"},
		"missing children are counted": {func(c *checker) {
			c.sets(model.Many, "children", map[string]any{"total": int64(3), "ready": int64(2)})
		}, "TemplateController many counts 3 children total, want 2"},
		"children count as ready too late": {func(c *checker) {
			c.sets(model.Many, "children", map[string]any{"total": int64(2), "ready": int64(1)})
		}, "TemplateController many counts 1 children ready, want 2"},
		"a count is wrong, but not final yet": {func(c *checker) {
			c.counts = false
			_ = unstructured.SetNestedField(c.controllers[model.Many].Object, int64(3), "status", "parents", "total")
		}, ""},
		"Events are still not written":                        {func(c *checker) { c.says("EventsWritable") }, "condition EventsWritable of TemplateController many is"},
		"statuses are still not written":                      {func(c *checker) { c.says("StatusWritable") }, "condition StatusWritable of TemplateController /many, generation 1, is"},
		"Events are not written, but the round has not ended": {func(c *checker) { c.says("EventsWritable"); c.rested = false }, ""},
		"a parent is missing":                                 {func(c *checker) { delete(c.parents, aMany) }, "Many chaos-a/p does not exist"},
		"a TemplateController is missing":                     {func(c *checker) { delete(c.controllers, model.Many) }, "TemplateController many does not exist"},
	} {
		t.Run(why, func(t *testing.T) {
			c := rightChecker()
			row.change(c)
			got := ""
			if err := c.compare(); err != nil {
				got = err.Error()
			}
			if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q in it", got, row.want)
			}
		})
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	for args, want := range map[string]string{
		"--without=kill":     `--without "kill": choose from`,
		"--time=0s":          "--time, --longest-fault: give a duration above 0",
		"--rounds=-1":        "--rounds, --replicas, --engines: use a number of at least 0",
		"--operator=/no/one": "no such file",
	} {
		command := newCommand()
		command.SetArgs([]string{args})
		command.SetOut(t.Output())
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}
