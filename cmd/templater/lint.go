package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/lint/files"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/manifest"
)

// lintFlags are the flags of templater lint.
type lintFlags struct {
	output   string
	schemas  []string
	warnings string
}

func newLintCommand() *cobra.Command {
	f := lintFlags{warnings: "show"}
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check TemplateControllers in files",
		Long: `Check TemplateControllers in files and folders, or in the standard input, which is -.

It finds what the operator would refuse, and more: fields that a kind does not have,
and what works but is probably not meant. Each finding has a code, such as TL003:
docs/findings.md says of each what is wrong, why, and how to mend it.

The fields of a kind are known from its CustomResourceDefinition. It can stand
in the same files, or in files that --schemas names.

It exits with 0 if there is no error, with 1 if there is one, and with 2 if it could not look.
With --warnings=error, a warning counts as an error.`,
		Example: `  templater lint config/
  templater lint app.yaml --schemas crds/ -o json
  kubectl kustomize config/ | templater lint -
  templater lint config/ --warnings error -o sarif > findings.sarif`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("give files or folders to check, or - for the standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	cli.AddOutput(flags, &f.output, "text", "json", "sarif")
	flags.StringSliceVar(&f.schemas, "schemas", nil, "files and folders with the CustomResourceDefinitions of kinds that templates are about")
	flags.Var(cli.NewChoice(&f.warnings, "show", "error"), "warnings", "what becomes of warnings: show or error")
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, paths []string) error {
	set, err := manifest.LoadControllers(paths, cmd.InOrStdin())
	if err != nil {
		return err
	}
	more, err := manifest.Load(f.schemas, cmd.InOrStdin())
	if err != nil {
		return err
	}
	known, err := files.Know(set, more)
	if err != nil {
		return err
	}
	all, summary := known.Check(set)
	if err := f.write(cmd.OutOrStdout(), all, summary); err != nil {
		return err
	}
	if summary.Errors > 0 || f.warnings == "error" && summary.Warnings > 0 {
		return cli.Findings
	}
	return nil
}

func (f *lintFlags) write(out io.Writer, all []report.Located, summary report.Summary) error {
	switch f.output {
	case "json":
		return report.JSON(out, all, summary)
	case "sarif":
		return report.SARIF(out, all)
	}
	return report.Text(out, cli.ColoursFor(out), all, summary)
}
