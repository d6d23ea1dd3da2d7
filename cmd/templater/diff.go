package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/diff"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// diffFlags are the flags of templater diff.
type diffFlags struct {
	cluster cli.Cluster
	output  string
	limit   int
	summary bool
}

func newDiffCommand() *cobra.Command {
	f := diffFlags{limit: 10}
	cmd := &cobra.Command{
		Use:   "diff PATH...",
		Short: "Show what edited TemplateControllers would change in a cluster",
		Long: `Show what TemplateControllers in files would change in a cluster: which children
would be created, updated, recreated and deleted, and how the status of each parent
would change. PATH is a file, a directory, or - for standard input.

It changes nothing. It renders the old and the new templates for each parent, and
sends the writes to the API server as a dry run, so that defaults and rejections
are shown. It uses your permissions; without permission to write, it compares
without the API server. Changes that would also happen without the edit are not
shown. All children are treated as ready. It cannot verify the seals of children
(annotation templater.dev/seal). Values of Secrets are hidden. The last line is the ID
of the revision, for spec.rollout.approvedRevision.

Exit codes: 0 if nothing changes, 1 if something changes, 2 on error.`,
		Example: `  templater diff app.yaml
  templater diff config/ --summary
  kubectl kustomize config/ | templater diff - --limit 3
  templater diff -f app.yaml -o json --limit 0 > changes.json`,
	}
	readPaths(cmd, f.run)
	flags := cmd.Flags()
	cli.AddOutput(flags, &f.output, "text", "json")
	cli.AddNumber(flags, &f.limit, "limit", 0, math.MaxInt, "maximum number of parents to show per TemplateController (those that lose objects come first); 0 = no limit")
	flags.BoolVar(&f.summary, "summary", false, "show only the summary, without the parents")
	f.cluster.AddServer(flags)
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command, paths []string) error {
	set, err := manifest.LoadControllers(paths, cmd.InOrStdin())
	if err != nil {
		return err
	}
	config, err := f.cluster.Config()
	if err != nil {
		return err
	}
	namespace, err := f.cluster.InNamespace()
	if err != nil {
		return err
	}
	set.DefaultNamespace(namespace)
	source, client, err := snapshot.NewSource(config)
	if err != nil {
		return err
	}
	known, err := lint.Know(set)
	if err != nil {
		return err
	}
	known.Ask(source.Schemas)
	progress := cli.NewProgress(cmd.ErrOrStderr())
	defer progress.Clear()
	comparer := &diff.Comparer{Source: source, Server: client, Definitions: known.Kinds, Schemas: known.Schemas, Now: time.Now()}
	reports, err := f.compare(cmd.Context(), comparer, set, progress)
	if err != nil {
		return err
	}
	progress.Clear()
	return f.write(cmd.OutOrStdout(), reports)
}

// compare compares the TemplateControllers sequentially.
func (f *diffFlags) compare(ctx context.Context, comparer *diff.Comparer, set *manifest.Set, progress *cli.Progress) ([]*diff.Report, error) {
	var reports []*diff.Report
	for _, c := range set.Controllers {
		name := v1.Describe(c.TemplateController.Key())
		progress.Say("%s: reading the cluster", name)
		comparer.Progress = func(done, all int) { progress.Say("%s: %d of %d parents", name, done, all) }
		report, err := comparer.Compare(ctx, c.TemplateController)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// write prints the reports, and returns cli.Findings if something changes.
func (f *diffFlags) write(out io.Writer, reports []*diff.Report) error {
	var found error
	for _, r := range reports {
		if r.Differs() {
			found = cli.Findings
		}
		f.cut(r)
	}
	if f.output == "json" {
		if err := diff.JSON(out, reports); err != nil {
			return err
		}
		return found
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := diff.Text(out, cli.ColorsFor(out), r); err != nil {
			return err
		}
	}
	return found
}

// cut applies --limit and --summary.
func (f *diffFlags) cut(r *diff.Report) {
	switch {
	case f.summary:
		r.Parents = []*diff.Parent{}
	case f.limit > 0 && len(r.Parents) > f.limit:
		r.Limit(f.limit)
	}
}
