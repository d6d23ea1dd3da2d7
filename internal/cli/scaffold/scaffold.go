// Package scaffold writes the first files of an operator: a TemplateController with the CustomResourceDefinition of its parents, and an
// example: templater new. It needs no cluster.
package scaffold

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Result has the files to write.
type Result struct {
	Files []File
	// Notes are the parts that could not be converted, in the order of the source files.
	Notes []Note
}

// File is a file to write.
type File struct {
	Name    string // with slashes, relative to the folder
	Content string
}

// Note is a part that could not be converted, or not exactly.
type Note struct {
	File    string
	Line    int    // from 1; 0 = the whole file
	Message string // one line without a final period: the subject, and what to do
}

// String returns place and message on one line.
func (n Note) String() string {
	if n.Line == 0 {
		return n.File + ": " + n.Message
	}
	return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Message)
}

// Controller is a TemplateController to write.
type Controller struct {
	Name    string
	GVK     schema.GroupVersionKind // kind of the parents
	Labels  map[string]any          // label selector of parents; empty = all
	CRD     map[string]any          // spec.crd; nil = the kind exists, or has another file
	Comment string                  // lines at the top of the file, without #
	// Left and Right are the delimiters; "" = {{ and }}.
	Left, Right string
	Values      map[string]any
	Helpers     string
	Related     []Related
	Children    []Child
	Finals      []Child // of spec.finalize
	Status      string
}

// Child is a child template to write.
type Child struct {
	Name, Comment, Template string
	ReadyWhen               string
	Cluster                 bool // scope: Cluster
	Keep                    bool // its objects are kept
}

// Related is an entry of spec.related to write.
type Related struct{ Name, APIVersion, Kind, Select string }

// YAML returns the manifest.
func (c *Controller) YAML() string {
	var out strings.Builder
	for line := range strings.Lines(c.Comment) {
		out.WriteString("# " + strings.TrimRight(line, "\n") + "\n")
	}
	fmt.Fprintf(&out, "apiVersion: templater.dev/v1\nkind: TemplateController\nmetadata:\n  name: %s\nspec:\n  watch:\n    apiVersion: %s\n    kind: %s\n",
		scalar(c.Name), scalar(c.GVK.GroupVersion().String()), scalar(c.GVK.Kind))
	if len(c.Labels) > 0 {
		out.WriteString("    labelSelector:\n" + indent(marshal(map[string]any{"matchLabels": c.Labels}), 6))
	}
	if c.CRD != nil {
		out.WriteString("  crd:\n" + mapping(c.CRD, 4))
	}
	if c.Left != "" {
		fmt.Fprintf(&out, "  delimiters: {left: %s, right: %s}\n", quoted(c.Left), quoted(c.Right))
	}
	if len(c.Values) > 0 {
		out.WriteString("  values:\n" + indent(marshal(c.Values), 4))
	}
	if c.Helpers != "" {
		out.WriteString("  helpers: " + literal(c.Helpers, 4))
	}
	if len(c.Related) > 0 {
		out.WriteString("  related:\n")
	}
	for _, r := range c.Related {
		fmt.Fprintf(&out, "  - name: %s\n    apiVersion: %s\n    kind: %s\n    select: %s", scalar(r.Name), scalar(r.APIVersion), scalar(r.Kind), literal(r.Select, 6))
	}
	if len(c.Children) > 0 {
		out.WriteString("  children:\n")
		writeChildren(&out, c.Children, 2)
	}
	if len(c.Finals) > 0 {
		out.WriteString("  finalize:\n    children:\n")
		writeChildren(&out, c.Finals, 4)
	}
	if c.Status != "" {
		out.WriteString("  status:\n    template: " + literal(c.Status, 6))
	}
	return out.String()
}

func writeChildren(out *strings.Builder, all []Child, by int) {
	pad := strings.Repeat(" ", by)
	for _, child := range all {
		for line := range strings.Lines(child.Comment) {
			out.WriteString(pad + "# " + strings.TrimRight(line, "\n") + "\n")
		}
		fmt.Fprintf(out, "%s- name: %s\n", pad, scalar(child.Name))
		if child.Cluster {
			out.WriteString(pad + "  scope: Cluster\n")
		}
		if child.ReadyWhen != "" {
			out.WriteString(pad + "  readyWhen: " + quoted(child.ReadyWhen) + "\n")
		}
		if child.Keep {
			out.WriteString(pad + "  prunePolicy: Orphan\n" + pad + "  deletionPolicy: Orphan\n")
		}
		out.WriteString(pad + "  template: " + literal(child.Template, by+4))
	}
}
