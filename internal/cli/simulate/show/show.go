// Package show prints the results of package simulate.
package show

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/lint/report"
)

// Result is the result for one parent. Its JSON form is stable.
type Result struct {
	TemplateController string `json:"templateController"`
	Parent             Parent `json:"parent"`
	// Gone is whether the parent is deleted, and has no finalizer of templater any more. Children are the remaining objects.
	Gone bool `json:"gone,omitempty"`
	// Ready is the ready condition.
	Ready Ready `json:"ready"`
	// Errors and Waits are the errors and waits in the message of the ready condition.
	Errors []string `json:"errors"`
	Waits  []string `json:"waits"`
	// Writes are the writes of templater until nothing changes, in order.
	Writes   []string `json:"writes"`
	Children []Child  `json:"children"`
	// Status is the part of the parent's status that templater writes; null for kinds whose status it does not write.
	Status map[string]any `json:"status"`
}

// Parent identifies a parent.
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

// Child is an object that a child template renders or has rendered.
type Child struct {
	Entry string `json:"entry"`
	// State is "ready", or the reason why the object is not.
	State string `json:"state"`
	// Object is the rendered object, with its namespace; without a template, it is the live object.
	Object map[string]any `json:"object"`

	places map[string]simulate.Place
}

// Of converts a result of package simulate.
func Of(controller string, parent map[string]any, r simulate.Result) Result {
	metadata, _ := parent["metadata"].(map[string]any)
	out := Result{
		TemplateController: controller,
		Parent:             Parent{simulate.Text(parent["apiVersion"]), simulate.Text(parent["kind"]), simulate.Text(metadata["namespace"]), simulate.Text(metadata["name"])},
		Gone:               r.Gone,
		Ready:              Ready{r.Ready.Status, r.Ready.Reason, r.Ready.Message},
		Errors:             append([]string{}, r.Errors...), Waits: append([]string{}, r.Waits...), Writes: []string{}, Children: []Child{}, Status: r.Status,
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

// String returns the name of the parent as in messages.
func (p Parent) String() string { return simulate.Named(p.Kind, p.Namespace, p.Name) }

// JSON writes results as one document: {"results": […]}.
func JSON(w io.Writer, all []Result) error {
	return report.WriteJSON(w, map[string]any{"results": append([]Result{}, all...)})
}

// Golden returns a result as text for expected files: writes, conditions, then the children.
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
			Errors []string       `json:"errors,omitempty"`
			Waits  []string       `json:"waits,omitempty"`
			Status map[string]any `json:"status,omitempty"`
		}{r.Errors, r.Waits, r.Status},
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

// YAML writes results as documents: the children of each parent, then the parent with its status, unless it is deleted. Comments contain the other
// results and, with explain, the template line of each line.
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
		fmt.Fprintf(&b, "---\n# %s by %s: %s\n", r.Parent, v1.Describe(r.TemplateController), stands)
		for _, text := range slices.Concat(r.Errors, r.Waits) {
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

// String returns the ready condition as text.
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

// YAML returns the object as YAML. With explain, comments contain the template line of each line.
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

// annotated writes an object with a comment on each line that begins a field: its template line. If it is the same as for the field
// around it, the comment is omitted.
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
