// Package tree prints a parent with its children and related objects, and the status of each: templater tree. It needs no
// client: the caller reads a cluster, or files, into a State.
package tree

import (
	"fmt"
	"slices"
	"strconv"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Tree is a parent with what belongs to it. Its JSON form is stable.
type Tree struct {
	Parent      Object       `json:"parent"`
	Controllers []Controller `json:"templateControllers"`
}

// Object is an object of the tree.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// State is "ready", or why the object is not; "" for related objects, of which nothing is expected.
	State string `json:"state,omitempty"`
}

// Controller is what one TemplateController makes of the parent.
type Controller struct {
	Name string `json:"name"`
	// Ready, Reason and Message are what the ready condition says, or why the TemplateController is not served.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Children are those of each entry of spec.children, and Related those of spec.related.
	Children []Entry `json:"children"`
	Related  []Entry `json:"related"`
	// Faults say what is wrong, and Waits what waits for what, in the words of the ready condition.
	Faults []string `json:"faults"`
	Waits  []string `json:"waits"`
	// Pending is what templater is yet to do, such as "create ConfigMap default/a".
	Pending []string `json:"pending"`
}

// Entry is the objects of an entry.
type Entry struct {
	Name string `json:"name"` // "" for children of removed entries
	// WaitsFor are the entries that it depends on.
	WaitsFor []string `json:"waitsFor"`
	Objects  []Object `json:"objects"`
}

// The States of an object that is ready, and of one that goes.
const (
	Ready    = "ready"
	Deleting = "being deleted"
)

// Of says how a parent stands by one TemplateController, which the simulator is of. It makes one pass, and tells of what that would
// write as of what is yet to come. Whether the parent is ready is what its status says; the pass says it where the status says nothing. A parent
// that is being deleted is shown as it is: see Leaving.
func Of(tc *v1.TemplateController, compiled *spec.Compiled, s *simulate.Simulator, state simulate.State) (Controller, error) {
	state = s.Placed(state)
	result, _, err := s.Pass(state)
	if err != nil {
		return Controller{}, fmt.Errorf("TemplateController %s: %w", tc.Name, err)
	}
	return After(tc, compiled, state, result), nil
}

// After is Of for a pass that was made over that State, of parents and objects that have their namespaces.
func After(tc *v1.TemplateController, compiled *spec.Compiled, state simulate.State, result simulate.Result) Controller {
	if simulate.IsDeleting(state.Parent) {
		return Leaving(tc, compiled, state.Parent, state.Objects)
	}
	out := Controller{
		Name: tc.Name, Children: entriesOf(tc.Spec.Children, compiled.Order), Related: []Entry{}, Pending: []string{},
		Faults: append([]string{}, result.Faults...), Waits: append([]string{}, result.Waits...),
	}
	pending := pendingOf(result.Writes)
	for _, w := range result.Writes {
		if pending[w.Of] != "" {
			out.Pending = append(out.Pending, w.String())
		}
	}
	out.judge(state.Parent, compiled.ReadyCondition, result.Ready)
	for _, c := range result.Children {
		content := c.Wanted
		if content == nil {
			content = c.Live
		}
		o := objectOf(content)
		if o.State = c.State; pending[o.id()] != "" {
			o.State = pending[o.id()]
		}
		out.add(c.Entry, o)
		delete(pending, o.id())
	}
	for _, w := range result.Writes { // what is deleted is gone after the pass
		if w.Verb == plan.Delete && pending[w.Of] != "" {
			out.addGone(w, state.Objects)
		}
	}
	for i := range compiled.Related {
		name := compiled.Related[i].Name
		e := Entry{Name: name, WaitsFor: []string{}, Objects: []Object{}}
		for _, o := range result.Related[name] {
			e.Objects = append(e.Objects, Object{APIVersion: o.APIVersion(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()})
		}
		out.Related = append(out.Related, e)
	}
	return out
}

// entriesOf are entries without their objects.
func entriesOf(children []v1.Child, order *spec.Order) []Entry {
	out := []Entry{}
	for i := range children {
		name := children[i].Name
		out = append(out, Entry{Name: name, WaitsFor: append([]string{}, order.DependsOn(name)...), Objects: []Object{}})
	}
	return out
}

// judge notes what the ready condition of the parent says, or, where there is none, what the pass does.
func (c *Controller) judge(parent map[string]any, condition string, passed status.Verdict) {
	live := conditionOf(parent, condition)
	if live == nil {
		c.Ready, c.Reason, c.Message = passed.Status == "True", passed.Reason, passed.Message
		if n := len(c.Pending); n > 0 && (c.Ready || c.Reason == v1.ReasonProgressing) { // it counts what it would have written
			c.Ready, c.Reason, c.Message = false, v1.ReasonProgressing, "children that templater has not written or deleted yet: "+strconv.Itoa(n)
		}
		return
	}
	c.Ready, c.Reason, c.Message = live["status"] == "True", simulate.Text(live["reason"]), simulate.Text(live["message"])
	seen, known := live["observedGeneration"].(int64)
	if is, _ := simulate.Map(parent["metadata"])["generation"].(int64); known && seen < is {
		c.Pending = append(c.Pending, fmt.Sprintf("compare generation %d: the status is of generation %d", is, seen))
	}
}

// conditionOf returns a condition of a parent's status, or nil.
func conditionOf(parent map[string]any, condition string) map[string]any {
	status, _ := parent["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c, _ := c.(map[string]any); c["type"] == condition && condition != "" {
			return c
		}
	}
	return nil
}

// pendingOf says of objects that are yet to be written what is to come.
func pendingOf(writes []simulate.Write) map[string]string {
	words := map[plan.Verb]string{plan.Create: "does not exist yet", plan.Update: "not updated yet", plan.Delete: "to be deleted"}
	out := map[string]string{}
	for _, w := range writes {
		if w.Entry != "" || w.Verb == plan.Delete {
			out[w.Of] = words[w.Verb]
		}
	}
	return out
}

// add files a child under its entry.
func (c *Controller) add(entry string, o Object) {
	i := slices.IndexFunc(c.Children, func(e Entry) bool { return e.Name == entry })
	if i < 0 {
		i = len(c.Children)
		c.Children = append(c.Children, Entry{Name: entry, WaitsFor: []string{}})
	}
	c.Children[i].Objects = append(c.Children[i].Objects, o)
}

// addGone files an object that the pass has deleted.
func (c *Controller) addGone(w simulate.Write, objects []map[string]any) {
	for _, content := range objects {
		if o := objectOf(content); o.id() == w.Of {
			o.State = "to be deleted"
			c.add(w.Entry, o)
			return
		}
	}
}

// NewParent names the parent, of which the State is what its TemplateControllers say together.
func NewParent(content map[string]any, controllers []Controller) Tree {
	parent := objectOf(content)
	parent.State = Ready
	for _, c := range controllers {
		if !c.Ready {
			parent.State = c.Reason
			break
		}
	}
	if simulate.IsDeleting(content) {
		parent.State = Deleting
	}
	return Tree{Parent: parent, Controllers: controllers}
}

func objectOf(content map[string]any) Object {
	metadata := simulate.Map(content["metadata"])
	return Object{APIVersion: simulate.Text(content["apiVersion"]), Kind: simulate.Text(content["kind"]), Namespace: simulate.Text(metadata["namespace"]), Name: simulate.Text(metadata["name"])}
}

// id names the object as writes do.
func (o Object) id() string { return simulate.Named(o.Kind, o.Namespace, o.Name) }

// title names an entry in the output.
func (e Entry) title(of func(string) string) string {
	if e.Name == "" {
		return "children of removed entries"
	}
	return of(e.Name)
}

func childTitle(e Entry) string   { return e.title(syntax.ChildName) }
func relatedTitle(e Entry) string { return e.title(syntax.RelatedName) }
