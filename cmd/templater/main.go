// Command templater is the operator.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		os.Exit(1) // cobra has printed the error
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "templater",
		Short: "Operators from templates: one TemplateController, one operator",
		Long: `templater turns TemplateControllers into operators. A TemplateController names a
kind to watch, templates for the child objects of each object of that kind, and
a template for its status.`,
		SilenceUsage: true,
	}
	cmd.AddCommand(newRunCommand())
	return cmd
}
