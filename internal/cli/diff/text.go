package diff

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// JSON writes reports as one document: {"reports": […]}.
func JSON(w io.Writer, all []*Report) error {
	return report.WriteJSON(w, map[string]any{"reports": all})
}

// Text writes a report as text: the summary, the parents, and the revision.
func Text(w io.Writer, colors report.Colors, r *Report) error {
	t := &printer{colors: colors}
	t.line("%s", colors.Bold(v1.Describe(r.Controller)+": "+r.Summary.String()))
	for _, note := range r.Notes {
		t.line("%s", colors.Yellow("Note: "+note))
	}
	for _, p := range r.Parents {
		t.parent(p)
	}
	if more := r.Summary.Changed - len(r.Parents); more > 0 && len(r.Parents) > 0 {
		t.line("\n%s: --limit 0 shows all", problem.Count(more, "more parent changes", "more parents change"))
	}
	t.revision(r)
	_, err := io.WriteString(w, t.out.String())
	return err
}

// revision prints the ID of the revision, and how to approve it.
func (t *printer) revision(r *Report) {
	if len(r.Parents) > 0 {
		t.line("")
	}
	t.line("revision %s", r.Revision)
	if !r.unapproved {
		return
	}
	command := "templater rollout approve "
	if namespace, name := v1.SplitKey(r.Controller); namespace == "" {
		command += name
	} else {
		command += name + " -n " + namespace
	}
	t.line("It needs approval: set spec.rollout.approvedRevision to %s, or apply this version and run %s", r.Revision, command)
}

// would has the words for the changes of objects.
var would = map[Verb]string{
	Create: "would be created", Update: "would be changed", Recreate: "would be recreated", Delete: "would be deleted",
	Unknown: "may be deleted (depends on readyWhen)",
	Orphan:  "would be kept, though no template renders it", Outdated: "would be left unchanged by its update strategy",
}

// String is such as "2 of 12 parents change: 3 Pods would be recreated, 1 ConfigMap would be deleted".
func (s Summary) String() string {
	if s.Changed == 0 {
		return fmt.Sprintf("none of %s changes", problem.Count(s.Parents, "parent", "parents"))
	}
	var parts []string
	for _, c := range s.Changes {
		words := would[c.Verb]
		if c.Count > 1 {
			words = strings.NewReplacer("it is", "they are", "its update", "their update", "renders it", "renders them").Replace(words)
		}
		parts = append(parts, problem.Count(c.Count, c.Kind, pluralOf(c.Kind))+" "+words)
	}
	if s.Statuses > 0 {
		parts = append(parts, problem.Count(s.Statuses, "status changes", "statuses change"))
	}
	if s.Refused > 0 {
		parts = append(parts, problem.Count(s.Refused, "write would be rejected", "writes would be rejected"))
	}
	if s.Failing > 0 {
		parts = append(parts, problem.Count(s.Failing, "parent has new problems", "parents have new problems"))
	}
	verb := "change"
	if s.Changed == 1 {
		verb = "changes"
	}
	head := fmt.Sprintf("%d of %s %s", s.Changed, problem.Count(s.Parents, "parent", "parents"), verb)
	if len(parts) == 0 {
		return head
	}
	return head + ": " + strings.Join(parts, ", ")
}

// pluralOf returns the plural of a kind.
func pluralOf(kind string) string {
	switch {
	case strings.HasSuffix(kind, "ss") || strings.HasSuffix(kind, "x") || strings.HasSuffix(kind, "ch"):
		return kind + "es"
	case strings.HasSuffix(kind, "s"): // Endpoints
		return kind
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// printer writes for people.
type printer struct {
	colors report.Colors
	out    strings.Builder
}

func (t *printer) line(format string, args ...any) { fmt.Fprintf(&t.out, format+"\n", args...) }

// parent prints one parent.
func (t *printer) parent(p *Parent) {
	words := map[string]string{"added": ": would become a parent", "removed": ": would no longer be a parent"}[p.Watched]
	t.line("\n%s", t.colors.Cyan(simulate.Named(p.Kind, p.Namespace, p.Name)+words))
	for _, fault := range p.Errors {
		t.line("  %s", t.colors.Red("error: "+fault))
	}
	for _, c := range p.Changes {
		t.change(c)
	}
	if p.Status != "" {
		t.line("  its status would change")
		t.diff(p.Status)
	}
}

func (t *printer) change(c Change) {
	paint := map[Verb]func(string) string{Create: t.colors.Green, Delete: t.colors.Red, Recreate: t.colors.Red}[c.Verb]
	if paint == nil {
		paint = t.colors.Yellow
	}
	t.line("  %s", paint(simulate.Named(c.Kind, c.Namespace, c.Name)+" of children["+cmp.Or(c.Entry, "?")+"] "+would[c.Verb]))
	if c.Refused != "" {
		t.line("    %s", t.colors.Red("the API server would reject it: "+c.Refused))
	}
	t.diff(c.Diff)
}

func (t *printer) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "+"):
			line = t.colors.Green(line)
		case strings.HasPrefix(line, "-"):
			line = t.colors.Red(line)
		case strings.HasPrefix(line, "@@"):
			line = t.colors.Faint(line)
		}
		t.line("    %s", line)
	}
}
