package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/operator/version"
)

func newVersionCommand() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of this binary, the commit that it was built from, and the Go
version that it was built with. It does not contact a cluster: to see which version
runs there, look at the image of the Deployment.`,
		Example: `  templater version
  templater version -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := version.Get()
			if output == "json" {
				return report.WriteJSON(cmd.OutOrStdout(), info)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "templater %s\ncommit    %s\nbuilt by  %s for %s\n", info.Version, info.Commit, info.Go, info.Platform)
			return err
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "text", "json")
	return cmd
}
