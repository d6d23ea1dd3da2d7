package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/templater-dev/templater/internal/cli"
	"github.com/templater-dev/templater/internal/cli/cases"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// testFlags are the flags of templater test.
type testFlags struct {
	update bool
	junit  string
}

func newTestCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test DIR...",
		Short: "Test TemplateControllers without a cluster",
		Long: `Run the test cases in the given directories, recursively, and compare the results
with the expected files. A case is a directory with a case.yaml, which lists the
input step by step, and a file with the expected result of each step. With --update,
the expected files are written: review and commit them.

docs/how-to/testing.md describes case.yaml.

Exit codes: 0 if all cases pass, 1 if a case fails, 2 if a case is invalid. An invalid
case counts as failed; the other cases still run.`,
		Example: `  templater test config/
  templater test config/ --update
  templater test config/ --junit report.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("pass directories with test cases")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.update, "update", false, "write the expected files")
	flags.StringVar(&f.junit, "junit", "", "file to write a JUnit report to")
	cli.AddWatch(cmd, func(dirs []string) []string {
		paths := slices.Clone(dirs)
		for _, c := range cases.Find(dirs) {
			paths = append(paths, c.Inputs()...)
		}
		return paths
	})
	cmd.MarkFlagsMutuallyExclusive("watch", "update")
	return cmd
}

func (f *testFlags) run(cmd *cobra.Command, dirs []string) error {
	all := cases.Find(dirs)
	progress := cli.NewProgress(cmd.ErrOrStderr())
	defer progress.Clear()
	var outcomes []cases.Outcome
	var invalid []error
	for i, c := range all {
		progress.Say("%d of %d cases: %s", i, len(all), c.Folder)
		outcome, err := c.Run(f.update)
		progress.Clear()
		if err != nil { // the other cases still run
			invalid = append(invalid, err)
			outcome.Steps = append(outcome.Steps, cases.StepOutcome{Name: "invalid test case", Failure: err.Error() + "\n"})
		}
		printOutcome(cmd, outcome)
		outcomes = append(outcomes, outcome)
	}
	if f.junit != "" {
		if err := writeReport(f.junit, outcomes); err != nil {
			return err
		}
	}
	found := summarize(cmd, outcomes)
	if len(invalid) > 0 {
		return invalid[0]
	}
	return found
}

// printOutcome prints the result of a test case.
func printOutcome(cmd *cobra.Command, o cases.Outcome) {
	out, paint := cmd.OutOrStdout(), cli.ColorsFor(cmd.OutOrStdout())
	if !o.Failed() {
		fmt.Fprintf(out, "%s %s\n", paint.Green("ok  "), o.Folder)
		return
	}
	fmt.Fprintf(out, "%s %s\n", paint.Red("FAIL"), o.Folder)
	for _, s := range o.Steps {
		if s.Failure == "" {
			continue
		}
		of := s.Parent
		if of != "" {
			of = " of " + of
		}
		fmt.Fprintf(out, "  step %q%s:\n", s.Name, of)
		for line := range strings.Lines(s.Failure) {
			text := strings.TrimRight(line, "\n")
			switch {
			case strings.HasPrefix(line, "-"):
				text = paint.Red(text)
			case strings.HasPrefix(line, "+"):
				text = paint.Green(text)
			}
			fmt.Fprintf(out, "    %s\n", text)
		}
	}
	for _, file := range o.Stale {
		fmt.Fprintf(out, "  no step uses %s: remove it, or run with --update\n", file)
	}
}

func summarize(cmd *cobra.Command, all []cases.Outcome) error {
	steps, failed := 0, 0
	for _, o := range all {
		steps += len(o.Steps)
		if o.Failed() {
			failed++
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s with %s: %d failed\n", problem.Count(len(all), "case", "cases"), problem.Count(steps, "step", "steps"), failed)
	if failed > 0 {
		return cli.Findings
	}
	return nil
}

func writeReport(path string, all []cases.Outcome) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	defer file.Close()
	if err := cases.JUnit(file, all); err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return file.Close()
}
