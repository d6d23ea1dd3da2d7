package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
)

// lintFlags are the flags of templater lint.
type lintFlags struct {
	output   string
	defined  []string
	warnings string
	ask      bool
	cluster  cli.Cluster
}

func newLintCommand() *cobra.Command {
	f := lintFlags{warnings: "show"}
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check TemplateControllers in files",
		Long: `Check TemplateControllers in files and directories, or on standard input (-).

It reports everything that templater would reject, and more: fields that a kind
does not have, and valid code that is probably a mistake. Each finding has a code,
such as TL003: templater explain TL003 describes it, and how to fix it.

Schemas are read from the CustomResourceDefinitions in the same files or in --schemas.
With --cluster, other schemas are read from the cluster in --kubeconfig, $KUBECONFIG or
~/.kube/config, in this order.

Hidden files in directories are skipped, and so are patches of kustomizations and the
templates of Helm charts: render them first, as in
helm template CHART | templater lint -

Exit codes: 0 if there are no errors, 1 if there are errors, 2 if a file or document
cannot be read. Unreadable files are reported; the other files are still checked.
With --warnings=error, a warning counts as an error.`,
		Example: `  templater lint config/
  templater lint app.yaml --schemas crds/ -o json
  kubectl kustomize config/ | templater lint -
  templater lint app.yaml --cluster --context test
  templater lint config/ --warnings error -o sarif > findings.sarif`,
	}
	readPaths(cmd, f.run)
	flags := cmd.Flags()
	cli.AddOutput(flags, &f.output, "text", "json", "sarif")
	flags.StringSliceVar(&f.defined, "schemas", nil, "files and directories with additional CustomResourceDefinitions to read schemas from")
	flags.BoolVar(&f.ask, "cluster", false, "read schemas from the cluster for kinds without a CustomResourceDefinition in the files")
	f.cluster.AddServer(flags)
	flags.Var(cli.NewChoice(&f.warnings, "show", "error"), "warnings", "how to treat warnings: show or error")
	watchPaths(cmd, &f.defined)
	return cmd
}

// needsCluster rejects --kubeconfig and --context without --cluster.
func needsCluster(cmd *cobra.Command, ask bool) error {
	for _, flag := range []string{"kubeconfig", "context"} {
		if cmd.Flags().Changed(flag) && !ask {
			return fmt.Errorf("--%s: requires --cluster", flag)
		}
	}
	return nil
}

func (f *lintFlags) run(cmd *cobra.Command, paths []string) error {
	if err := needsCluster(cmd, f.ask); err != nil {
		return err
	}
	set, faults := manifest.LoadAll(paths, cmd.InOrStdin())
	more, moreFaults := manifest.LoadAll(f.defined, cmd.InOrStdin())
	known := lint.LoadReadableSchemas(set, more)
	known.AddUnreadable(slices.Concat(faults, moreFaults)...)
	if f.ask {
		schemas, err := f.clusterSchemas(cmd.Context())
		if err != nil {
			return err
		}
		known.Ask(schemas)
	}
	unread := unreadable(paths, set, faults, moreFaults)
	misused := slices.ContainsFunc(moreFaults, func(e *manifest.Error) bool { return e.Line == 0 })
	if f.output == "text" && (misused || len(set.Controllers) == 0 && len(faults)+len(moreFaults) < 2) {
		return unread // nothing was checked
	}
	all, summary := known.Check(set)
	if err := f.write(cmd.OutOrStdout(), all, summary); err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	if summary.Errors > 0 || f.warnings == "error" && summary.Warnings > 0 {
		return cli.Findings
	}
	return nil
}

// unreadable returns the first error that prevented a check, or nil. faults are the errors in paths, and ofSchemas the errors in --schemas.
func unreadable(paths []string, set *manifest.Set, faults, ofSchemas []*manifest.Error) error {
	switch {
	case len(faults) > 0:
		return faults[0]
	case len(ofSchemas) > 0:
		return fmt.Errorf("--schemas: %w", ofSchemas[0])
	case len(set.Controllers) == 0:
		return manifest.NoController(paths)
	}
	return nil
}

// clusterSchemas returns the OpenAPI schemas of the cluster. It returns an error if the cluster is unreachable.
func (f *lintFlags) clusterSchemas(ctx context.Context) (openapi.Set, error) {
	config, err := f.cluster.Config()
	if err != nil {
		return nil, err
	}
	client, err := kube.NewClient(config)
	if err == nil {
		_, err = client.Read(ctx, "/openapi/v3", openapi.MaxDocumentBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("read the schemas of the cluster at %s: %w", config.Host, err)
	}
	return openapi.NewCache(openapi.CacheOptions{Reader: client, Clock: clock.RealClock{}, Logger: klog.FromContext(ctx)}), nil
}

func (f *lintFlags) write(out io.Writer, all []report.Located, summary report.Summary) error {
	switch f.output {
	case "json":
		return report.JSON(out, all, summary)
	case "sarif":
		return report.SARIF(out, all)
	}
	return report.Text(out, cli.ColorsFor(out), all, summary)
}
