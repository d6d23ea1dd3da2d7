package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/explain"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func newExplainCommand() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "explain [NAME]",
		Short: "Explain a template function, a kind, a field, a condition, a reason or a finding code",
		Long: `Explain a name that templater or its templates use: a template function such as
default, or why a function is not supported; a key such as .children; an action such
as range; a kind such as NamespacedTemplateController, or its short name; a field of a
TemplateController such as spec.children; a condition such as Linted, or a reason such
as ChildConflict; a finding code such as TL001. Other words, such as password, find
names that are about them. Without an argument, it lists all of them.`,
		Example: `  templater explain dnsLabel
  templater explain .children
  templater explain range
  templater explain ntc
  templater explain spec.children.updateStrategy
  templater explain ChildConflict
  templater explain TL001
  templater explain`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("pass one argument")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, e := range explain.All() {
				names = append(names, e.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found := explain.All()
			if len(args) == 1 {
				if found = explain.Find(args[0]); len(found) == 0 {
					found = explain.Search(args[0])
				}
				if len(found) == 0 {
					return unknownName(args[0])
				}
			}
			out := cmd.OutOrStdout()
			if output == "json" {
				return report.WriteJSON(out, found)
			}
			if len(args) == 0 {
				list(out, found)
				return nil
			}
			printEntries(out, found)
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "text", "json")
	return cmd
}

// unknownName returns the error for an unknown name.
func unknownName(name string) error {
	return fmt.Errorf("unknown name %q%s (run \"templater explain\" for a list)", name, syntax.DidYouMean(explain.Nearest(name)))
}

// list prints one line per name, grouped by kind.
func list(out io.Writer, all []explain.Entry) {
	for i, kind := range explain.Kinds {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%ss\n", strings.ToUpper(string(kind[:1]))+string(kind[1:]))
		last, width := "", 0
		for _, e := range all {
			if e.Kind == kind {
				width = max(width, len(e.Name))
			}
		}
		for _, e := range all {
			if e.Kind == kind && e.Name != last {
				fmt.Fprintf(out, "  %-*s  %s\n", width, e.Name, e.About)
				last = e.Name
			}
		}
	}
}

// printEntries prints the entries in full.
func printEntries(out io.Writer, all []explain.Entry) {
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s (%s)\n  %s\n", e.Name, e.Kind, e.About)
		for line := range strings.Lines(e.More) {
			fmt.Fprintf(out, "  %s\n", strings.TrimRight(line, "\n"))
		}
	}
}
