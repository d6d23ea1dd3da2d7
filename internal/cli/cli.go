// Package cli has what the commands of templater share: exit codes, terminal output, and
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
	ExitFindings = 1 // the command has done its work, and found something: a mistake, a difference, a test that failed
	ExitMisuse   = 2 // the command could not do its work: a flag is wrong, a file is not there, the cluster does not answer
)

// Findings is what a command returns that has found something, and has already told it. Every other error means that the command
// could not do its work.
var Findings = errors.New("something was found") //nolint:errname,revive,staticcheck // it is no fault, but how a command ends

// longestError is how many bytes an error may have on the terminal.
const longestError = 4 << 10

// Execute runs a command and returns the code to exit with. An error is one line on the standard error of the command, which must be
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
	return ExitMisuse
}
