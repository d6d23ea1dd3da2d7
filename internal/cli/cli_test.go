package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/internal/lint/report"
)

func TestExitCodesAndErrorOutput(t *testing.T) {
	for why, row := range map[string]struct {
		err    error
		args   []string
		code   int
		stderr string
	}{
		"all is fine":            {nil, nil, ExitFine, ""},
		"something was found":    {fmt.Errorf("lint: %w", Findings), nil, ExitFindings, ""},
		"the work was not done":  {errors.New("a\nb\u202e"), nil, ExitError, "Error: a b\ufffd\n"},
		"one line of any length": {errors.New(strings.Repeat("x", 5000)), nil, ExitError, "Error: " + strings.Repeat("x", 4093) + "…\n"},
		"an unknown flag":        {nil, []string{"--speed"}, ExitError, "Error: unknown flag: --speed\n"},
		"an unknown word":        {nil, []string{"-o", "xml"}, ExitError, "Error: --output \"xml\": use yaml or json\n"},
		"a word":                 {nil, []string{"-o", "json"}, ExitFine, ""},
	} {
		var out, stderr bytes.Buffer
		cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return row.err }}
		var output string
		AddOutput(cmd.Flags(), &output, "yaml", "json")
		cmd.SetFlagErrorFunc(FlagError)
		cmd.SetArgs(append([]string{}, row.args...))
		cmd.SetOut(&out)
		cmd.SetErr(&stderr)
		if code := Execute(t.Context(), cmd); code != row.code {
			t.Errorf("%s: exit code %d, want %d", why, code, row.code)
		}
		if diff := cmp.Diff(row.stderr, stderr.String()); diff != "" || out.Len() > 0 {
			t.Errorf("%s: printed %q; stderr (-want +got):\n%s", why, out.String(), diff)
		}
	}
}

// TestNoColorsOrProgressWithoutTerminal prints to what is none.
func TestNoColorsOrProgressWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	if got := ColorsFor(&out).Red("a"); got != "a" {
		t.Errorf("painted: %q", got)
	}
	progress := NewProgress(&out)
	progress.Say("%d of %d", 1, 2)
	progress.Clear()
	if out.Len() > 0 {
		t.Errorf("progress: %q", out.String())
	}
}

func TestColorsAndProgressOnTerminal(t *testing.T) {
	if got := (report.Colors{On: true}).Red("a"); got != "\x1b[31ma\x1b[0m" {
		t.Errorf("painted: %q", got)
	}
	if got := (report.Colors{On: true}).Bold(""); got != "" {
		t.Errorf("painted nothing: %q", got)
	}
	var out bytes.Buffer
	progress := &Progress{out: &out}
	progress.Say("%d of %d", 1, 2)
	progress.Clear()
	progress.Clear()
	if got := out.String(); got != "\r\x1b[K1 of 2\r\x1b[K" {
		t.Errorf("progress: %q", got)
	}
}

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: c, cluster: {server: "https://example.org"}}]
contexts:
- {name: a, context: {cluster: c}}
- {name: b, context: {cluster: c, namespace: team}}
`

func TestClusterFlags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for namespace, args := range map[string][]string{
		"default": {"--kubeconfig", path},
		"team":    {"--kubeconfig", path, "--context", "b"},
		"other":   {"--kubeconfig", path, "--context", "b", "-n", "other"},
	} {
		var c Cluster
		flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
		c.Add(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		config, err := c.Config()
		if err != nil || config.Host != "https://example.org" || config.QPS >= 0 {
			t.Errorf("%v: config %v, error %v", args, config, err)
		}
		if got, err := c.InNamespace(); got != namespace || err != nil {
			t.Errorf("%v: namespace %q, error %v; want %q", args, got, err, namespace)
		}
	}
	absent := Cluster{Kubeconfig: path + "x"}
	if _, err := absent.Config(); err == nil || !strings.HasPrefix(err.Error(), "no cluster configured: set --kubeconfig or KUBECONFIG: stat "+path+"x") {
		t.Errorf("got %v", err)
	}
	if _, err := absent.InNamespace(); err == nil {
		t.Error("found a namespace without a kubeconfig")
	}
}
