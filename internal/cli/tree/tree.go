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

// Tree is a parent with its TemplateControllers and objects. Its JSON form is stable.
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
	// State is "ready", or the reason why the object is not; "" for related objects.
	State string `json:"state,omitempty"`
}

// Controller has the objects of a parent for one TemplateController.
type Controller struct {
	Name string `json:"name"`
	// Ready, Reason and Message are those of the ready condition, or why the TemplateController is rejected.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Children has an entry per child template, and Related an entry per item of spec.related.
	Children []Entry `json:"children"`
	Related  []Entry `json:"related"`
	// Errors and Waits are the errors and waits in the message of the ready condition.
	Errors []string `json:"errors"`
	Waits  []string `json:"waits"`
	// Pending are pending changes, such as "create ConfigMap default/a".
	Pending []string `json:"pending"`
}

// Entry has the objects of an entry.
type Entry struct {
	Name string `json:"name"` // "" for children of removed child templates
	// WaitsFor are the child templates that it depends on.
	WaitsFor []string `json:"dependsOn"`
	Objects  []Object `json:"objects"`
}

// The states of ready objects, and of objects to be deleted.
const (
	Ready    = "ready"
	Deleting = "being deleted"
)

// Of returns the state of the parent for the TemplateController of the simulator. It simulates one reconciliation and reports its writes as pending.
// Readiness comes from the status of the parent or, if that has no ready condition, from the simulation. For a parent that is being deleted, see Leaving.
func Of(tc *v1.TemplateController, compiled *spec.Compiled, s *simulate.Simulator, state simulate.State) (Controller, error) {
	state = s.Placed(state)
	result, _, err := s.Reconcile(state)
	if err != nil {
		return Controller{}, fmt.Errorf("%s: %w", v1.Describe(tc.Key()), err)
	}
	return After(tc, compiled, state, result), nil
}

// After is like Of, for a reconciliation that has already been simulated. The parent and the objects must have namespaces.
func After(tc *v1.TemplateController, compiled *spec.Compiled, state simulate.State, result simulate.Result) Controller {
	if simulate.IsDeleting(state.Parent) {
		return Leaving(tc, compiled, state.Parent, state.Objects)
	}
	out := Controller{
		Name: tc.Key(), Children: entriesOf(tc.Spec.Children, compiled.Order), Related: []Entry{}, Pending: []string{},
		Errors: append([]string{}, result.Errors...), Waits: append([]string{}, result.Waits...),
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
	for _, w := range result.Writes { // what is deleted is gone after the reconciliation
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

// entriesOf returns the entries without objects.
func entriesOf(children []v1.Child, order *spec.Order) []Entry {
	out := []Entry{}
	for i := range children {
		name := children[i].Name
		out = append(out, Entry{Name: name, WaitsFor: append([]string{}, order.DependsOn(name)...), Objects: []Object{}})
	}
	return out
}

// judge sets the ready condition of the parent or, if it has none, the result of the reconciliation.
func (c *Controller) judge(parent map[string]any, condition string, passed status.Verdict) {
	live := conditionOf(parent, condition)
	if live == nil {
		c.Ready, c.Reason, c.Message = passed.Status == "True", passed.Reason, passed.Message
		if n := len(c.Pending); n > 0 && (c.Ready || c.Reason == v1.ReasonProgressing) { // the message counts pending writes
			c.Ready, c.Reason, c.Message = false, v1.ReasonProgressing, "children that templater has not written or deleted yet: "+strconv.Itoa(n)
		}
		return
	}
	c.Ready, c.Reason, c.Message = live["status"] == "True", simulate.Text(live["reason"]), simulate.Text(live["message"])
	seen, known := live["observedGeneration"].(int64)
	if is, _ := simulate.Map(parent["metadata"])["generation"].(int64); known && seen < is {
		c.Pending = append(c.Pending, fmt.Sprintf("the status is stale: observedGeneration is %d, metadata.generation is %d", seen, is))
	}
}

// conditionOf returns a condition of the parent's status, or nil.
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

// pendingOf returns the pending changes by object.
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

// add adds a child to its entry.
func (c *Controller) add(entry string, o Object) {
	i := slices.IndexFunc(c.Children, func(e Entry) bool { return e.Name == entry })
	if i < 0 {
		i = len(c.Children)
		c.Children = append(c.Children, Entry{Name: entry, WaitsFor: []string{}})
	}
	c.Children[i].Objects = append(c.Children[i].Objects, o)
}

// addGone adds an object that the reconciliation deleted.
func (c *Controller) addGone(w simulate.Write, objects []map[string]any) {
	for _, content := range objects {
		if o := objectOf(content); o.id() == w.Of {
			o.State = "to be deleted"
			c.add(w.Entry, o)
			return
		}
	}
}

// NewParent returns the object for the parent. Its State combines its TemplateControllers.
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

// id returns the identity of the object as in writes.
func (o Object) id() string { return simulate.Named(o.Kind, o.Namespace, o.Name) }

// title returns the title of an entry.
func (e Entry) title(of func(string) string) string {
	if e.Name == "" {
		return "children of removed child templates"
	}
	return of(e.Name)
}

func childTitle(e Entry) string   { return e.title(syntax.ChildName) }
func relatedTitle(e Entry) string { return e.title(syntax.RelatedName) }
