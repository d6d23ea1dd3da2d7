// Command templater is the operator, and what authors of TemplateControllers try them with.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Execute(ctx, newCommand())
	stop()
	os.Exit(code)
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "templater",
		Short: "Operators from templates: one TemplateController, one operator",
		Long: `templater turns TemplateControllers into operators. A TemplateController names a
kind to watch, templates for the child objects of each object of that kind, and
a template for its status.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	cmd.AddCommand(newRunCommand())
	return cmd
}
