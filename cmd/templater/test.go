package main

import (
	"errors"
	"fmt"
	"os"
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
		Use:   "test FOLDER...",
		Short: "Test TemplateControllers without a cluster",
		Long: `Run the test cases in folders and below, and compare the result with the expected
files. A case is a folder with a case.yaml, which lists the input step by step, and
a file with the expected result of each step. With --update, these files are
written: review and keep them.

docs/how-to/testing.md describes case.yaml.

It exits with 0 if all cases pass, with 1 if one fails, and with 2 if a case is
invalid, which fails while the others still run.`,
		Example: `  templater test config/
  templater test config/ --update
  templater test config/ --junit report.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("pass folders with test cases")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.update, "update", false, "write the expected files")
	flags.StringVar(&f.junit, "junit", "", "file to write a JUnit report to")
	return cmd
}

func (f *testFlags) run(cmd *cobra.Command, folders []string) error {
	all := cases.Find(folders)
	progress := cli.NewProgress(cmd.ErrOrStderr())
	defer progress.Clear()
	var outcomes []cases.Outcome
	var senseless []error
	for i, c := range all {
		progress.Say("%d of %d cases: %s", i, len(all), c.Folder)
		outcome, err := c.Run(f.update)
		progress.Clear()
		if err != nil { // the others are not at fault
			senseless = append(senseless, err)
			outcome.Steps = append(outcome.Steps, cases.StepOutcome{Name: "the case is invalid", Failure: err.Error() + "\n"})
		}
		showOutcome(cmd, outcome)
		outcomes = append(outcomes, outcome)
	}
	if f.junit != "" {
		if err := writeReport(f.junit, outcomes); err != nil {
			return err
		}
	}
	found := summarise(cmd, outcomes)
	if len(senseless) > 0 {
		return senseless[0]
	}
	return found
}

// showOutcome prints what became of a case.
func showOutcome(cmd *cobra.Command, o cases.Outcome) {
	out, paint := cmd.OutOrStdout(), cli.ColoursFor(cmd.OutOrStdout())
	if !o.Failed() {
		fmt.Fprintf(out, "%s %s\n", paint.Green("ok  "), o.Folder)
		return
	}
	fmt.Fprintf(out, "%s %s\n", paint.Red("FAIL"), o.Folder)
	for _, s := range o.Steps {
		if s.Failure == "" {
			continue
		}
		fmt.Fprintf(out, "  step %q:\n", s.Name)
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
		fmt.Fprintf(out, "  %s belongs to no step: remove it, or use --update\n", file)
	}
}

func summarise(cmd *cobra.Command, all []cases.Outcome) error {
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
