package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/operator/version"
)

func newVersionCommand() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell which templater this is",
		Long: `version prints the version of this program, the commit that it was built from,
and the Go that it was built with. It asks no cluster: which version runs there,
the image of the Deployment tells.`,
		Example: `  templater version
  templater version -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := version.Get()
			if output == "json" {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(info)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "templater %s\ncommit    %s\nbuilt by  %s for %s\n", info.Version, info.Commit, info.Go, info.Platform)
			return err
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "text", "json")
	return cmd
}
