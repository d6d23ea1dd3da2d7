// Command templater runs the operator, and provides command-line tools for authors of TemplateControllers.
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

// run runs the command in os.Args, and returns the exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // commands do not show library logs; the operator sets its own logger
	return cli.Execute(ctx, newCommand(os.Args[0]))
}

// newCommand returns the root command. as is the path of the binary: as a kubectl plugin (kubectl-templater), the display name is "kubectl templater".
func newCommand(as string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "templater",
		Short: "Build Kubernetes operators from templates",
		Long: `templater turns TemplateControllers into operators. A TemplateController watches
a kind. For each object of that kind (a parent), its templates define the child
objects and the status of the parent.`,
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
		newCRDCommand(),
		newRBACCommand(),
		newNewCommand(),
		newDiffCommand(),
		newTreeCommand(),
		newRolloutCommand(),
		newVersionCommand(),
	)
	cmd.InitDefaultCompletionCmd()
	for _, sub := range cmd.Commands() {
		if sub.Name() == "completion" {
			sub.Short = "Generate a shell completion script"
			sub.Long = "Generate a completion script for templater. See each subcommand's help for how to install it."
			sub.Example = "  templater completion bash > /etc/bash_completion.d/templater"
		}
	}
	return cmd
}
