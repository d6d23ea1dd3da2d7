package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/scenario"
)

// runFlags are the flags of a run.
type runFlags struct {
	bed       bed.Options
	bench     scenario.Options
	operator  string
	scenarios []string
	json      string
	plot      string
	check     bool
	counts    bool
	failed    bool // a scenario failed
}

func newRunCommand() *cobra.Command {
	f := &runFlags{}
	command := &cobra.Command{
		Use:   "bench",
		Short: "Compare the operator with a bare informer client",
		Long:  "Compare the operator with the floor, a bare informer client that makes only the\nrequests that cannot be avoided.\n\nScenarios (* are those of --scenarios=default):\n" + list(),
		Example: `  go run ./bench
  go run ./bench --scenarios configmap,latency --rounds 3
  go run ./bench --scenarios all --json all.json --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.bed.Out = cmd.ErrOrStderr()
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.scenarios, "scenarios", []string{"default"}, "what to measure: names from the list above, default, or all")
	flags.IntVar(&f.bench.Rounds, "rounds", 5, "how often each contender has its turn; medians are compared")
	flags.StringVar(&f.operator, "operator", "", "the built operator; empty = build ./cmd/templater")
	flags.IntVar(&f.bench.FloorWorkers, "floor-workers", 0, "how many workers the floor has; 0 = try some numbers and take the best")
	flags.Float64Var(&f.bench.Scale, "scale", 1, "factor for the numbers of parents, to try something quickly; targets are meant for 1")
	flags.IntSliceVar(&f.bench.MemorySizes, "memory-sizes", []int{1000, 10000, 50000}, "numbers of parents in scenario memory, ascending")
	flags.DurationVar(&f.bench.SettleTime, "settle-time", 130*time.Second, "how long a contender rests in scenario memory before it is measured; Go collects after two idle minutes at the latest")
	flags.DurationVar(&f.bench.IdleTime, "idle-time", time.Minute, "how long idle CPU is measured in scenario memory")
	flags.IntVar(&f.bench.FairnessParents, "fairness-parents", 20000, "parents of the busy TemplateController in scenario fairness")
	flags.StringVar(&f.json, "json", "", "file to write all figures to, those of each round too")
	flags.StringVar(&f.plot, "plot", "", "file to write the memory by number of parents to, as SVG; needs scenario memory")
	flags.BoolVar(&f.check, "check", false, "fail when a target is missed")
	flags.BoolVar(&f.counts, "counts", false, "evaluate and show counts only: with few parents, times and sizes are meaningless")
	flags.StringVar(&f.bed.Kubeconfig, "kubeconfig", "", "kubeconfig of an administrator of a cluster to use, instead of one that is started; scenarios that need kwok or the audit log are left out")
	flags.StringVar(&f.bed.Name, "name", "bench", "name of the cluster that is started; one that is up already is used and left up")
	flags.StringVar(&f.bed.Cache, "cache", "", "folder for the cluster's programs and state (default .cache/cluster in the repository)")
	return command
}

// list names the scenarios.
func list() string {
	var out strings.Builder
	for _, s := range scenario.All {
		mark := ' '
		if s.Default {
			mark = '*'
		}
		fmt.Fprintf(&out, "  %c %-12s %s\n", mark, s.Name, s.About)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (f *runFlags) validate() error {
	if f.bench.Rounds < 1 {
		return fmt.Errorf("--rounds %d: use a number of at least 1", f.bench.Rounds)
	}
	if f.bench.Scale <= 0 {
		return fmt.Errorf("--scale %g: give a number above 0", f.bench.Scale)
	}
	for i, size := range f.bench.MemorySizes {
		if size < 1 || i > 0 && size <= f.bench.MemorySizes[i-1] {
			return fmt.Errorf("--memory-sizes %v: give ascending numbers from 1", f.bench.MemorySizes)
		}
	}
	if len(f.bench.MemorySizes) == 0 || f.bench.FairnessParents < 1 || f.bench.FloorWorkers < 0 {
		return errors.New("--memory-sizes, --fairness-parents: give numbers from 1; --floor-workers: a number from 0")
	}
	return nil
}

func (f *runFlags) run(ctx context.Context, out io.Writer) (err error) {
	if err := f.validate(); err != nil {
		return err
	}
	scenarios, err := scenario.Select(f.scenarios)
	if err != nil {
		return err
	}
	if f.plot != "" && !slices.ContainsFunc(scenarios, func(s scenario.Scenario) bool { return s.Name == "memory" }) {
		return errors.New("--plot: add memory to --scenarios")
	}
	if err := f.create(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "templater-bench-")
	if err != nil {
		return err
	}
	defer func() { err = f.discard(dir, err) }()
	bench, down, err := f.prepare(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down()) }()
	for _, s := range scenarios {
		if err := bench.Run(ctx, s); err != nil {
			f.failed = true
			return errors.Join(err, f.write(bench.Report, out)) // the results so far
		}
	}
	if f.counts {
		bench.Report.KeepCounts()
	}
	return errors.Join(f.write(bench.Report, out), f.judge(bench.Report))
}

// create creates the files of --json and --plot early, so that a wrong path fails before the run.
func (f *runFlags) create() error {
	for flag, name := range map[string]string{"--json": f.json, "--plot": f.plot} {
		if name == "" {
			continue
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the folder of a run, but keeps the logs of a failed one.
func (f *runFlags) discard(dir string, err error) error {
	if !f.failed {
		return errors.Join(err, os.RemoveAll(dir))
	}
	fmt.Fprintf(f.bed.Out, "the logs are in %s\n", dir)
	return err
}

// write writes the table, and the JSON and the plot if requested.
func (f *runFlags) write(r *report.Report, out io.Writer) error {
	return errors.Join(r.WriteTable(out), toFile("--json", f.json, r.WriteJSON), toFile("--plot", f.plot, r.PlotMemory))
}

// toFile writes to the file that a flag names, if any.
func toFile(flag, name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return errors.Join(write(file), file.Close())
}

// judge returns an error if targets are checked and one is missed.
func (f *runFlags) judge(r *report.Report) error {
	missed := r.Missed()
	if !f.check || len(missed) == 0 {
		return nil
	}
	names := make([]string, len(missed))
	for i, figure := range missed {
		names[i] = figure.Scenario + " " + figure.Measure
	}
	return fmt.Errorf("%d targets are missed: %s", len(missed), strings.Join(names, ", "))
}
