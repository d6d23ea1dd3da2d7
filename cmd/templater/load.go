package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// loadFlag loads the files and directories in a flag. The error names the flag.
func loadFlag(cmd *cobra.Command, flag string, paths []string) (*manifest.Set, error) {
	set, err := manifest.Load(paths, cmd.InOrStdin())
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return set, nil
}

// readPaths makes a command run on files and directories: its arguments, and those of --filename, which kubectl users expect.
func readPaths(cmd *cobra.Command, run func(cmd *cobra.Command, paths []string) error) {
	var files []string
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "files and directories to read, like PATH")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		paths := append(slices.Clone(files), args...)
		if len(paths) == 0 {
			return errors.New("pass files or directories with TemplateControllers, or - for standard input")
		}
		return run(cmd, paths)
	}
}

// watchPaths adds --watch to a command of readPaths. The paths of its flags are read, too.
func watchPaths(cmd *cobra.Command, flags ...*[]string) {
	cli.AddWatch(cmd, func(args []string) []string {
		paths, _ := cmd.Flags().GetStringSlice("filename")
		paths = append(paths, args...)
		for _, more := range flags {
			paths = append(paths, *more...)
		}
		return paths
	})
}
