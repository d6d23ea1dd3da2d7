// Package show prints the results of package simulate.
package show

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/lint/report"
)

// Result is what became of one parent. Its JSON form is stable.
type Result struct {
	TemplateController string `json:"templateController"`
	Parent             Parent `json:"parent"`
	// Gone is whether the parent has been deleted, and nothing of templater's holds it any more. Children are those that it leaves behind.
	Gone bool `json:"gone,omitempty"`
	// Ready is what the ready condition says.
	Ready Ready `json:"ready"`
	// Faults say what is wrong, and Waits what waits for what, in the words of the ready condition.
	Faults []string `json:"faults"`
	Waits  []string `json:"waits"`
	// Writes are what templater does until nothing is left to do, in order.
	Writes   []string `json:"writes"`
	Children []Child  `json:"children"`
	// Status is what templater writes of the parent's status; null for kinds whose status it does not write.
	Status map[string]any `json:"status"`
}

// Parent names a parent.
type Parent struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Ready is what a ready condition says.
type Ready struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Child is an object that an entry yields, or one that is left of it.
type Child struct {
	Entry string `json:"entry"`
	// State is "ready", or why the object is not.
	State string `json:"state"`
	// Object is as the template yields it, in its namespace; without one, it is as it is there.
	Object map[string]any `json:"object"`

	places map[string]simulate.Place
}

// Of makes a Result.
func Of(controller string, parent map[string]any, r simulate.Result) Result {
	metadata, _ := parent["metadata"].(map[string]any)
	out := Result{
		TemplateController: controller,
		Parent:             Parent{simulate.Text(parent["apiVersion"]), simulate.Text(parent["kind"]), simulate.Text(metadata["namespace"]), simulate.Text(metadata["name"])},
		Gone:               r.Gone,
		Ready:              Ready{r.Ready.Status, r.Ready.Reason, r.Ready.Message},
		Faults:             append([]string{}, r.Faults...), Waits: append([]string{}, r.Waits...), Writes: []string{}, Children: []Child{}, Status: r.Status,
	}
	for _, w := range r.Writes {
		out.Writes = append(out.Writes, w.String())
	}
	for _, c := range r.Children {
		object := c.Wanted
		if object == nil {
			object = c.Live
		}
		out.Children = append(out.Children, Child{c.Entry, c.State, object, c.Places})
	}
	return out
}

// String names the parent as messages do.
func (p Parent) String() string { return simulate.Named(p.Kind, p.Namespace, p.Name) }

// JSON writes results as one document: {"results": […]}.
func JSON(w io.Writer, all []Result) error {
	return report.WriteJSON(w, map[string]any{"results": append([]Result{}, all...)})
}

// Golden is a result as text to compare and to read: what templater does and says, and then the children.
func Golden(r Result) ([]byte, error) {
	var b bytes.Buffer
	var stands any = struct {
		Ready Ready `json:"ready"`
	}{r.Ready}
	if r.Gone {
		stands = struct {
			Gone bool `json:"gone"`
		}{true}
	}
	for _, part := range []any{
		struct {
			Writes []string `json:"writes"`
		}{r.Writes},
		stands,
		struct {
			Faults []string       `json:"faults,omitempty"`
			Waits  []string       `json:"waits,omitempty"`
			Status map[string]any `json:"status,omitempty"`
		}{r.Faults, r.Waits, r.Status},
	} {
		content, err := yaml.Marshal(part)
		if err != nil {
			return nil, err
		}
		if string(content) != "{}\n" {
			b.Write(content)
		}
	}
	err := r.writeChildren(&b, false)
	return b.Bytes(), err
}

// YAML writes results as documents: the children of each parent, and then the parent with its status, unless it is gone. Comments say what else there is to
// say, and, with explain, from which line of which template each line is.
func YAML(w io.Writer, all []Result, explain bool) error {
	var b bytes.Buffer
	for _, r := range all {
		if err := r.writeChildren(&b, explain); err != nil {
			return err
		}
		stands := r.Ready.String()
		if r.Gone {
			stands = "gone"
		}
		fmt.Fprintf(&b, "---\n# %s by TemplateController %s: %s\n", r.Parent, r.TemplateController, stands)
		for _, text := range slices.Concat(r.Faults, r.Waits) {
			if text != r.Ready.Message {
				fmt.Fprintf(&b, "# %s\n", text)
			}
		}
		if r.Gone {
			continue
		}
		if err := r.writeParent(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r Result) writeChildren(b *bytes.Buffer, explain bool) error {
	for _, c := range r.Children {
		fmt.Fprintf(b, "---\n# children[%s] of %s: %s\n", c.Entry, r.Parent, c.State)
		if err := c.write(b, explain); err != nil {
			return err
		}
	}
	return nil
}

// String says whether the parent is ready, and why not.
func (r Ready) String() string {
	if r.Status == "True" {
		return "ready: " + r.Message
	}
	return "not ready: " + r.Reason + ": " + r.Message
}

func (c Child) write(b *bytes.Buffer, explain bool) error {
	if explain {
		return annotated(b, c.Object, c.places)
	}
	content, err := yaml.Marshal(c.Object)
	b.Write(content)
	return err
}

// YAML returns the object as YAML. With explain, comments say which line of which template each line is from.
func (c Child) YAML(explain bool) (string, error) {
	var b bytes.Buffer
	err := c.write(&b, explain)
	return b.String(), err
}

func (r Result) writeParent(b *bytes.Buffer) error {
	metadata := map[string]any{"name": r.Parent.Name}
	if r.Parent.Namespace != "" {
		metadata["namespace"] = r.Parent.Namespace
	}
	parent := map[string]any{"apiVersion": r.Parent.APIVersion, "kind": r.Parent.Kind, "metadata": metadata}
	if r.Status != nil {
		parent["status"] = r.Status
	}
	content, err := yaml.Marshal(parent)
	b.Write(content)
	return err
}

// annotated writes an object with a comment at each line that begins a field: where it is from. Where that is the same as for the field
// around it, it is not said again.
func annotated(b *bytes.Buffer, object map[string]any, places map[string]simulate.Place) error {
	content, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	paths, err := linePaths(content)
	if err != nil {
		return err
	}
	last := ""
	for i, line := range strings.Split(strings.TrimRight(string(content), "\n"), "\n") {
		place, known := places[paths[i+1]]
		b.WriteString(line)
		if is := place.String(); known && is != last {
			fmt.Fprintf(b, " # %s", is)
			last = is
		}
		b.WriteByte('\n')
	}
	return nil
}
