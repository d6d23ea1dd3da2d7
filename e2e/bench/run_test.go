package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/e2e/bench/report"
)

func TestEveryFlagHasHelp(t *testing.T) {
	root := newCommand()
	for _, command := range append([]*cobra.Command{root}, root.Commands()...) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s --%s has no help", command.Name(), flag.Name)
			}
		})
	}
}

func TestInvalidFlagsAreRejectedBeforeStart(t *testing.T) {
	for args, want := range map[string]string{
		"--rounds 0":                                   "--rounds 0: use a number of at least 1",
		"--scale -1":                                   "--scale -1: give a number above 0",
		"--memory-sizes 10,10":                         "--memory-sizes [10 10]: give ascending numbers from 1",
		"--fairness-parents 0":                         "--fairness-parents: give numbers from 1",
		"--scenarios configmap,other":                  `there is no "other"`,
		"--json /none/of/these.json":                   "--json: open /none/of/these.json",
		"--plot memory.svg":                            "--plot: add memory to --scenarios",
		"--scenarios memory --plot /none/of/these.svg": "--plot: open /none/of/these.svg",
	} {
		t.Run(args, func(t *testing.T) {
			command := newCommand()
			command.SetArgs(strings.Fields(args))
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func TestCheckFailsIfTargetsAreNotMet(t *testing.T) {
	r := &report.Report{}
	r.Add(report.Figure{Scenario: "requests", Measure: "resyncs", Templater: []float64{1}, Target: report.Exactly(0)})
	r.Add(report.Figure{Scenario: "requests", Measure: "new", Templater: []float64{2}, Target: report.Exactly(2)})
	if err := (&runFlags{}).judge(r); err != nil {
		t.Errorf("without --check: %v", err)
	}
	err := (&runFlags{check: true}).judge(r)
	if err == nil || err.Error() != "1 targets are missed: requests resyncs" {
		t.Errorf("with --check: %v", err)
	}
}

func TestWriteTableAndJSONFile(t *testing.T) {
	r := &report.Report{}
	r.Add(report.Figure{Scenario: "ten", Measure: "throughput", Templater: []float64{1}})
	f := &runFlags{json: filepath.Join(t.TempDir(), "out.json")}
	var out bytes.Buffer
	if err := f.write(r, &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.json)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(`"scenario": "ten"`)) || !bytes.Contains(out.Bytes(), []byte("throughput")) {
		t.Errorf("table:\n%s\nfile:\n%s", out.Bytes(), data)
	}
}
