package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/e2e/cluster/build"
	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/e2e/cluster/node"
	"github.com/templater-dev/templater/e2e/cluster/testcluster"
)

const modeHelp = "node: a real kubelet and containerd (Linux, root); kwok: plain processes, Pods are simulated; auto: node where possible"

func buildCommand(g *globals) *cobra.Command {
	var mode string
	var options build.Options
	command := &cobra.Command{
		Use:   "build",
		Short: "Build the programs of a cluster that are missing or outdated",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := layout.Find(g.cache)
			if err != nil {
				return err
			}
			options.Out = cmd.OutOrStdout()
			if options.Mode, err = build.Resolve(layout.Mode(mode)); err != nil {
				return err
			}
			if err := build.Build(cmd.Context(), cache, options); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "all is built for mode %s in %s\n", options.Mode, cache.Dir)
			return nil
		},
	}
	command.Flags().StringVar(&mode, "mode", string(layout.Auto), modeHelp)
	command.Flags().BoolVar(&options.Force, "force", false, "run every step, current or not")
	return command
}

func upCommand(g *globals) *cobra.Command {
	var options testcluster.Options
	var mode string
	command := &cobra.Command{
		Use:   "up",
		Short: "Build missing components, start the cluster, and wait until Pods can run",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Name, options.CacheDir, options.Out = g.name, g.cache, cmd.OutOrStdout()
			options.Mode = layout.Mode(mode)
			cluster, err := testcluster.Up(cmd.Context(), options)
			if err != nil {
				return err
			}
			fmt.Fprintf(options.Out, "cluster %s is up in mode %s at %s\n", cluster.Name, cluster.Mode, cluster.HostServer())
			fmt.Fprintf(options.Out, "audit log: %s\n", cluster.AuditLog())
			printEnv(options.Out, cluster)
			return nil
		},
	}
	command.Flags().StringVar(&mode, "mode", string(layout.Auto), modeHelp)
	command.Flags().IntVar(&options.Port, "port", 0, "port of the API server on 127.0.0.1; 0 takes a free one")
	command.Flags().IntVar(&options.Nodes, "nodes", 1, "how many nodes kwok plays")
	command.Flags().StringVar(&options.AuditPolicy, "audit-policy", "", "file with another audit policy than Metadata for all requests")
	return command
}

func downCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove all but the build outputs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			started := time.Now()
			found, err := testcluster.Down(g.cache, g.name)
			switch {
			case err != nil:
				return err
			case found:
				fmt.Fprintf(cmd.OutOrStdout(), "cluster %s is down after %.1fs\n", g.name, time.Since(started).Seconds())
			default:
				fmt.Fprintf(cmd.OutOrStdout(), "cluster %s was not up\n", g.name)
			}
			return nil
		},
	}
}

func statusCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the cluster status; fails unless it is up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testcluster.Find(g.cache, g.name)
			if err != nil {
				return err
			}
			return cluster.Status(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// initCommand is the first process of a cluster.
func initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init SPEC", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return node.Run(args[0]) },
	}
}

// forwardCommand forwards a host port to a real node's API server.
func forwardCommand() *cobra.Command {
	return &cobra.Command{
		Use: "forward", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return node.Forward() },
	}
}
