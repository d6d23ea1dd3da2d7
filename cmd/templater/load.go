package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// loadFlag loads the files and folders that a flag names. The error names the flag.
func loadFlag(cmd *cobra.Command, flag string, paths []string) (*manifest.Set, error) {
	set, err := manifest.Load(paths, cmd.InOrStdin())
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return set, nil
}
