package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/templater-dev/templater/e2e/bench/floor"
)

// newFloorCommand is the command that the benchmark runs itself with, so that the floor is a process whose CPU time can
// be measured.
func newFloorCommand() *cobra.Command {
	var kubeconfig, task string
	options := floor.Options{}
	command := &cobra.Command{
		Use:    "floor",
		Short:  "Run the baseline client",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if options.Config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
				return fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
			}
			if err := json.Unmarshal([]byte(task), &options.Task); err != nil {
				return fmt.Errorf("--task: give a workload.Task as JSON: %w", err)
			}
			options.Out = cmd.OutOrStdout()
			return floor.Run(cmd.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "path to the kubeconfig file")
	flags.StringVar(&task, "task", "", "the children of each parent, as JSON")
	flags.BoolVar(&options.Cheapest, "cheapest", false, "write with POST and JSON merge patches instead of server-side apply")
	flags.IntVar(&options.Workers, "workers", 16, "number of parents that are reconciled concurrently")
	return command
}
