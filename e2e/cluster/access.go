package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/e2e/cluster/testcluster"
	"github.com/templater-dev/templater/tools/image/archive"
)

func loadCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar...",
		Short: "Import image archives into the node",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := testcluster.Find(g.cache, g.name)
			if err != nil {
				return err
			}
			for _, archive := range args {
				if err := cluster.Load(cmd.Context(), archive); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func imageCommand() *cobra.Command {
	var out archive.Image
	var names []string
	var file string
	command := &cobra.Command{
		Use:   "image PATH",
		Short: "Write a one-layer image archive from a folder or a single file",
		Long:  "Write a one-layer image archive. A folder becomes the root of the image; a single file lands in the root under its own name.",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := archive.FromPath(args[0])
			if err != nil {
				return err
			}
			out.Files = files
			return out.WriteFile(file, names...)
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&names, "name", nil, "name:tag of the image; may be repeated") // hides the cluster name flag, which is not needed here
	flags.StringSliceVar(&out.Entrypoint, "entrypoint", nil, "entry point, words separated by commas")
	flags.StringSliceVar(&out.Cmd, "cmd", nil, "default arguments, separated by commas")
	flags.StringVar(&out.User, "user", "65532:65532", "uid:gid to run as")
	flags.StringVarP(&file, "output", "o", "image.tar", "archive to write")
	_ = command.MarkFlagRequired("name") // fails only for unknown flags
	return command
}

func kubeconfigCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testcluster.Find(g.cache, g.name)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), cluster.Kubeconfig())
			return nil
		},
	}
}

func envCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print shell commands that make kubectl use the cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := testcluster.Find(g.cache, g.name)
			if err != nil {
				return err
			}
			printEnv(cmd.OutOrStdout(), cluster)
			return nil
		},
	}
}

func printEnv(out io.Writer, cluster *testcluster.Cluster) {
	fmt.Fprintf(out, "export KUBECONFIG='%s'\n", cluster.Kubeconfig())
	fmt.Fprintf(out, "export PATH='%s':\"$PATH\"\n", cluster.Cache.Bin())
}

func userCommand(g *globals) *cobra.Command {
	var groups []string
	command := &cobra.Command{
		Use:   "user NAME",
		Short: "Print a kubeconfig for another user",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := testcluster.Find(g.cache, g.name)
			if err != nil {
				return err
			}
			kubeconfig, err := cluster.UserKubeconfig(args[0], groups...)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(kubeconfig)
			return err
		},
	}
	command.Flags().StringSliceVar(&groups, "group", nil, "group of the user; may be repeated")
	return command
}
