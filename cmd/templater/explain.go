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
		Use:   "explain [WORD]",
		Short: "Explain a template function, a field, a condition, a reason or a finding code",
		Long: `Explain a name that templater or its templates use: a function such as default,
also an unsupported one and why; a key such as .children; an action such as range;
a field of a TemplateController such as spec.children; a condition such as Linted,
or a reason such as ChildConflict; the code of a finding such as TL001. Without an
argument, it lists all of them.`,
		Example: `  templater explain dnsLabel
  templater explain .children
  templater explain range
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
			var words []string
			for _, e := range explain.All() {
				words = append(words, e.Name)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found := explain.All()
			if len(args) == 1 {
				if found = explain.Find(args[0]); len(found) == 0 {
					return unknownWord(args[0])
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
			tell(out, found)
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "text", "json")
	return cmd
}

// unknownWord says that nothing is known of a word.
func unknownWord(word string) error {
	return fmt.Errorf("unknown name %s%s (templater explain lists all)", word, syntax.DidYouMean(explain.Nearest(word)))
}

// list shows one line for each word.
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

// tell shows all of some words.
func tell(out io.Writer, all []explain.Entry) {
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
