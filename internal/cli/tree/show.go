package tree

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// JSON writes the tree as one document.
func JSON(w io.Writer, t Tree) error {
	return report.WriteJSON(w, t)
}

// branch is a line of the text, with the lines below it.
type branch struct {
	text  string
	below []branch
}

// Text writes the tree as text.
func Text(w io.Writer, colors report.Colors, t Tree) error {
	p := painter{colors}
	root := branch{text: p.object(t.Parent)}
	for _, c := range t.Controllers {
		root.below = append(root.below, p.controller(c))
	}
	var b strings.Builder
	b.WriteString(root.text + "\n")
	root.write(&b, "")
	_, err := io.WriteString(w, b.String())
	return err
}

func (n branch) write(b *strings.Builder, indent string) {
	for i, below := range n.below {
		mark, further := "├─ ", "│  "
		if i == len(n.below)-1 {
			mark, further = "└─ ", "   "
		}
		b.WriteString(indent + mark + below.text + "\n")
		below.write(b, indent+further)
	}
}

// painter formats parts of a tree.
type painter struct{ colors report.Colors }

func (p painter) object(o Object) string {
	switch o.State {
	case "":
		return o.id()
	case Ready:
		return o.id() + ": " + p.colors.Green(o.State)
	case Deleting:
		return o.id() + ": " + p.colors.Red(o.State)
	}
	return o.id() + ": " + p.colors.Yellow(o.State)
}

func (p painter) controller(c Controller) branch {
	state := p.colors.Green(Ready)
	if !c.Ready {
		state = p.colors.Yellow(c.Reason + ": " + c.Message)
	}
	out := branch{text: p.colors.Bold(v1.Describe(c.Name)) + ": " + state}
	for _, e := range c.Children {
		text := childTitle(e)
		if len(e.WaitsFor) > 0 {
			text += p.colors.Faint(" depends on " + syntax.ChildName(strings.Join(e.WaitsFor, ", ")))
		}
		out.below = append(out.below, p.entry(text, e))
	}
	for _, e := range c.Related {
		out.below = append(out.below, p.entry(relatedTitle(e), e))
	}
	if len(c.Pending) > 0 {
		out.below = append(out.below, branch{text: p.colors.Yellow("pending: " + problem.Join(c.Pending))})
	}
	for _, fault := range c.Errors {
		if !strings.Contains(c.Message, fault) {
			out.below = append(out.below, branch{text: p.colors.Red("error: " + fault)})
		}
	}
	for _, wait := range c.Waits {
		if !strings.Contains(c.Message, wait) {
			out.below = append(out.below, branch{text: p.colors.Yellow("waiting: " + wait)})
		}
	}
	return out
}

func (p painter) entry(title string, e Entry) branch {
	out := branch{text: p.colors.Cyan(title)}
	for _, o := range e.Objects {
		out.below = append(out.below, branch{text: p.object(o)})
	}
	if len(e.Objects) == 0 {
		out.text += p.colors.Faint(": none")
	}
	return out
}

// graph is the tree as nodes and edges.
type graph struct {
	nodes []string
	edges []edge
}

type edge struct {
	from, to int
	label    string
	dashed   bool // a dependency or a related object
}

func (g *graph) node(text string) int {
	g.nodes = append(g.nodes, text)
	return len(g.nodes) - 1
}

func graphOf(t Tree) *graph {
	g := &graph{}
	plain := painter{}
	root := g.node(plain.object(t.Parent))
	for _, c := range t.Controllers {
		at := map[string]int{}
		for _, e := range c.Children {
			at[e.Name] = g.entry(root, childTitle(e), c.Name, e, false)
		}
		for _, e := range c.Children {
			for _, other := range e.WaitsFor {
				g.edges = append(g.edges, edge{at[e.Name], at[other], "depends on", true})
			}
		}
		for _, e := range c.Related {
			g.entry(root, relatedTitle(e), c.Name, e, true)
		}
	}
	return g
}

func (g *graph) entry(root int, title, controller string, e Entry, dashed bool) int {
	at := g.node(title)
	g.edges = append(g.edges, edge{root, at, controller, dashed})
	for _, o := range e.Objects {
		g.edges = append(g.edges, edge{at, g.node(painter{}.object(o)), "", dashed})
	}
	return at
}

// DOT writes the tree for Graphviz. https://graphviz.org/doc/info/lang.html
func DOT(w io.Writer, t Tree) error {
	g := graphOf(t)
	var b strings.Builder
	b.WriteString("digraph {\n  rankdir=LR\n  node [shape=box]\n")
	for i, text := range g.nodes {
		fmt.Fprintf(&b, "  n%d [label=%s]\n", i, strconv.Quote(text))
	}
	for _, e := range g.edges {
		style := "solid"
		if e.dashed {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  n%d -> n%d [label=%s, style=%s]\n", e.from, e.to, strconv.Quote(e.label), style)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Mermaid writes the tree as a Mermaid flowchart, for Markdown. https://mermaid.js.org/syntax/flowchart.html
func Mermaid(w io.Writer, t Tree) error {
	g := graphOf(t)
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, text := range g.nodes {
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, strings.NewReplacer(`"`, "#quot;", "<", "#lt;").Replace(text))
	}
	for _, e := range g.edges {
		arrow := "-->"
		if e.dashed {
			arrow = "-.->"
		}
		if e.label != "" {
			arrow += "|" + e.label + "|"
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", e.from, arrow, e.to)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
