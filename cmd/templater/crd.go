package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/crd"
)

func newCRDCommand() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "crd PATH...",
		Short: "Print the CustomResourceDefinitions of TemplateControllers with spec.crd",
		Long: `Print the CustomResourceDefinitions that templater creates for TemplateControllers with
spec.crd. Use it to review them, or to maintain one in a file instead: apply the output,
and remove spec.crd.

PATH is a file, a directory (read recursively), or - for standard input. The exit code is
1 if a spec.crd is invalid, and 2 if there is none.`,
		Example: `  templater crd website.yaml
  templater crd website.yaml > crd.yaml`,
	}
	readPaths(cmd, func(cmd *cobra.Command, paths []string) error {
		set, err := manifest.LoadControllers(paths, cmd.InOrStdin())
		if err != nil {
			return err
		}
		return printCRDs(cmd, set, output)
	})
	cli.AddOutput(cmd.Flags(), &output, "yaml", "json")
	return cmd
}

func printCRDs(cmd *cobra.Command, set *manifest.Set, output string) error {
	var all []any
	for _, c := range set.Controllers {
		definition, invalid := lint.CRD(c.TemplateController)
		switch {
		case invalid != nil:
			for _, f := range invalid.Findings {
				fmt.Fprintln(cmd.ErrOrStderr(), c.Located(f.String()))
			}
			return cli.Findings
		case definition != nil:
			all = append(all, crd.Manifest(definition))
		}
	}
	if len(all) == 0 {
		return errors.New("no TemplateController has spec.crd")
	}
	out := cmd.OutOrStdout()
	if output == "json" {
		return report.WriteJSON(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": all})
	}
	for i, object := range all {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(out, "---")
		}
		fmt.Fprint(out, string(text))
	}
	return nil
}
