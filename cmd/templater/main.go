// Command templater is the operator, and the command-line tools for authors of TemplateControllers.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/cli"
)

func main() { os.Exit(run()) }

// run runs the command that the arguments name, and returns the code to exit with.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // what a library logs besides its error is not for users of a command; the operator sets its own
	return cli.Execute(ctx, newCommand(os.Args[0]))
}

// newCommand returns the command with all below it, which calls itself as it was called: as a plugin of kubectl, it is kubectl-templater.
func newCommand(as string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "templater",
		Short: "Operators from templates: one TemplateController, one operator",
		Long: `templater turns TemplateControllers into operators. A TemplateController names a
kind to watch, templates for the child objects of each object of that kind, and
a template for its status.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	if strings.TrimSuffix(filepath.Base(as), ".exe") == "kubectl-templater" {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl templater"}
	}
	cmd.SetFlagErrorFunc(cli.FlagError)
	cmd.AddCommand(
		newRunCommand(),
		newLintCommand(),
		newRenderCommand(),
		newTestCommand(),
		newExplainCommand(),
		newPlaygroundCommand(),
		newRBACCommand(),
		newNewCommand(),
		newDiffCommand(),
		newTreeCommand(),
		newVersionCommand(),
	)
	cmd.InitDefaultCompletionCmd()
	for _, sub := range cmd.Commands() {
		if sub.Name() == "completion" {
			sub.Short = "Generate a shell completion script"
			sub.Long = "Generate the completion script of templater for a shell. The help of each shell tells where to install it."
			sub.Example = "  templater completion bash > /etc/bash_completion.d/templater"
		}
	}
	return cmd
}
