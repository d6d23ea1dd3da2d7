// Package tree shows a parent with its children, the related objects that its templates see, and how all of these stand. It needs no
// client: whoever reads a cluster, or files, gives it a State.
package tree

import (
	"fmt"
	"slices"
	"strconv"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/simulate"
	"github.com/templater-dev/templater/internal/spec"
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
	// Ready, Reason and Message are what the ready condition says.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Children are those of each entry of spec.children, and Related those of spec.related.
	Children []Entry `json:"children"`
	Related  []Entry `json:"related"`
	// Faults say what is wrong, and Waits what waits for what, in the words of the ready condition.
	Faults []string `json:"faults"`
	Waits  []string `json:"waits"`
}

// Entry is the objects of an entry.
type Entry struct {
	Name string `json:"name"` // "" for children of entries that are gone
	// WaitsFor are the entries that it depends on.
	WaitsFor []string `json:"waitsFor"`
	Objects  []Object `json:"objects"`
}

// Ready is the State of an object that is ready.
const Ready = "ready"

// Of says how a parent stands by one TemplateController, which the simulator is of. It makes one pass, and tells of what that would
// write as of what is yet to come: as long as there is some, the parent is not ready.
func Of(tc *v1.TemplateController, compiled *spec.Compiled, s *simulate.Simulator, state simulate.State) (Controller, error) {
	state = s.Placed(state)
	result, _, err := s.Pass(state)
	if err != nil {
		return Controller{}, fmt.Errorf("TemplateController %s: %w", tc.Name, err)
	}
	out := Controller{
		Name: tc.Name, Ready: result.Ready.Status == "True", Reason: result.Ready.Reason, Message: result.Ready.Message,
		Children: []Entry{}, Related: []Entry{}, Faults: append([]string{}, result.Faults...), Waits: append([]string{}, result.Waits...),
	}
	for i := range tc.Spec.Children {
		name := tc.Spec.Children[i].Name
		out.Children = append(out.Children, Entry{Name: name, WaitsFor: append([]string{}, compiled.Order.DependsOn(name)...), Objects: []Object{}})
	}
	pending := pendingOf(result.Writes)
	if n := len(pending); n > 0 && out.Ready {
		out.Ready, out.Reason, out.Message = false, v1.ReasonProgressing, "children that templater is yet to write or to delete: "+strconv.Itoa(n)
	}
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
			e.Objects = append(e.Objects, relatedOf(o))
		}
		out.Related = append(out.Related, e)
	}
	return out, nil
}

// pendingOf says of objects that are yet to be written what is to come.
func pendingOf(writes []simulate.Write) map[string]string {
	words := map[plan.Verb]string{plan.Create: "not there yet", plan.Update: "not as its template says yet", plan.Delete: "to be deleted"}
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
	return Tree{Parent: parent, Controllers: controllers}
}

func objectOf(content map[string]any) Object {
	metadata, _ := content["metadata"].(map[string]any)
	text := func(m map[string]any, key string) string {
		s, _ := m[key].(string)
		return s
	}
	return Object{APIVersion: text(content, "apiVersion"), Kind: text(content, "kind"), Namespace: text(metadata, "namespace"), Name: text(metadata, "name")}
}

func relatedOf(o *object.Object) Object {
	return Object{APIVersion: o.APIVersion(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
}

// id names the object as writes do.
func (o Object) id() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// title names an entry in the output.
func (e Entry) title(of func(string) string) string {
	if e.Name == "" {
		return "children of entries that are gone"
	}
	return of(e.Name)
}

func childTitle(e Entry) string   { return e.title(syntax.ChildName) }
func relatedTitle(e Entry) string { return e.title(syntax.RelatedName) }
