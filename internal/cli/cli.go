// Package cli has the shared parts of all commands: exit codes, terminal output, and
// common flags.
package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/kube/object"
)

// The exit codes of all commands.
const (
	ExitFine     = 0
	ExitFindings = 1 // the command succeeded, and found something: a mistake, a difference, a failed test
	ExitError    = 2 // the command failed: invalid flag, missing file, no response from the cluster
)

// Findings is returned by a command that has printed findings. Any other error means that the command
// failed.
var Findings = errors.New("something was found") //nolint:errname,revive,staticcheck // a result, not a failure

// longestError is the maximum size of a printed error, in bytes.
const longestError = 4 << 10

// Execute runs a command and returns its exit code. It prints an error as one line on the standard error of the command, which must be
// silent about errors and usage.
func Execute(ctx context.Context, cmd *cobra.Command) int {
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return ExitFine
	case errors.Is(err, Findings):
		return ExitFindings
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Error: %s\n", object.Line(err.Error(), longestError))
	return ExitError
}
