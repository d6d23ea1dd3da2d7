package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestEveryCommandAndFlagHasHelp(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s has no help", cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newCommand())
}

func TestMistakesAreTold(t *testing.T) {
	for why, row := range map[string]struct {
		args []string
		want string
	}{
		"unknown level":      {[]string{"run", "--log-level", "loud"}, `--log-level "loud": give error, info, verbose or debug`},
		"unknown format":     {[]string{"run", "--log-format", "xml"}, `--log-format "xml": give text, json or auto`},
		"no kubeconfig":      {[]string{"run", "--kubeconfig", "/nowhere/config"}, "no cluster to work with: give --kubeconfig, or set KUBECONFIG: stat /nowhere/config"},
		"unknown flag":       {[]string{"run", "--speed", "9"}, "unknown flag: --speed"},
		"unknown command":    {[]string{"walk"}, `unknown command "walk" for "templater"`},
		"a number of no use": {[]string{"run", "--workers", "0"}, "--workers 0: give a number from 1"},
	} {
		t.Run(why, func(t *testing.T) {
			out, err := execute(t, row.args...)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("err = %v, want %q", err, row.want)
			}
			if strings.Count(out, "\n") > 2 {
				t.Errorf("the message drowns in:\n%s", out)
			}
		})
	}
}

func TestLogIsJSONWhereThereIsNoTerminal(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	defer klog.ClearLogger()
	var out bytes.Buffer
	f := logFlags{format: "auto", level: "info"}
	ctx, err := f.setUp(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	klog.FromContext(ctx).Info("seen", "key", "value")
	klog.FromContext(ctx).V(2).Info("hidden")
	if got := out.String(); !strings.Contains(got, `"msg":"seen","key":"value"`) || strings.Contains(got, "hidden") {
		t.Errorf("log is %q", got)
	}
}
