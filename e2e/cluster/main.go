// Command cluster builds, starts and stops a Kubernetes cluster for development and tests, built from Go modules
// without installing anything.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// globals are the flags of all commands.
type globals struct{ cache, name string }

// The first process of a node re-executes itself. If another thread than the first called execve, the process would
// briefly appear to have ended.
func init() { runtime.LockOSThread() }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A Kubernetes cluster for development and tests",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&g.cache, "cache", "", "folder for build outputs and state (default .cache/cluster in the repository)")
	root.PersistentFlags().StringVar(&g.name, "name", layout.DefaultName, "name of the cluster; several may be up side by side")
	root.AddCommand(
		buildCommand(g), upCommand(g), downCommand(g), statusCommand(g),
		loadCommand(g), imageCommand(), kubeconfigCommand(g), envCommand(g), userCommand(g),
		initCommand(), forwardCommand(),
	)
	return root
}
