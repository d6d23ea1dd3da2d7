package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/klog/v2"
)

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newCommand("templater")
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
	walk(newCommand("templater"))
}

func TestCommandLineErrors(t *testing.T) {
	for why, row := range map[string]struct {
		args []string
		want string
	}{
		"unknown level":                               {[]string{"run", "--log-level", "loud"}, `--log-level "loud": use error, info, verbose or debug`},
		"unknown format":                              {[]string{"run", "--log-format", "xml"}, `--log-format "xml": use text, json or auto`},
		"no kubeconfig":                               {[]string{"run", "--kubeconfig", "/nowhere/config"}, "no cluster configured: set --kubeconfig or KUBECONFIG: stat /nowhere/config"},
		"unknown flag":                                {[]string{"run", "--speed", "9"}, "unknown flag: --speed"},
		"unknown command":                             {[]string{"walk"}, `unknown command "walk" for "templater"`},
		"address without a colon":                     {[]string{"run", "--metrics-bind-address", "8080"}, `--metrics-bind-address "8080": use HOST:PORT or :PORT, as in :8080, with a port of at most 65535`},
		"port is a name":                              {[]string{"run", "--health-probe-bind-address", ":http"}, `--health-probe-bind-address ":http": use HOST:PORT or :PORT, as in :8080, with a port of at most 65535`},
		"port is too large":                           {[]string{"run", "--pprof-bind-address", "localhost:65536"}, `--pprof-bind-address "localhost:65536": use HOST:PORT or :PORT, as in :8080, with a port of at most 65535`},
		"--metrics-secure without an address":         {[]string{"run", "--metrics-secure"}, "--metrics-secure requires --metrics-bind-address, as in :8080"},
		"--metrics-cert-dir without --metrics-secure": {[]string{"run", "--metrics-bind-address", ":8080", "--metrics-cert-dir", "/certs"}, "--metrics-cert-dir requires --metrics-secure"},
		"--webhook-cert-dir without an address":       {[]string{"run", "--webhook-cert-dir", "/certs"}, "--webhook-cert-dir and --webhook-namespace require --webhook-bind-address, as in :9443"},
		"webhook address without a colon":             {[]string{"run", "--webhook-bind-address", "9443"}, `--webhook-bind-address "9443": use HOST:PORT or :PORT, as in :8080, with a port of at most 65535`},
		"unknown namespace of the webhook Secret":     {[]string{"run", "--webhook-bind-address", ":9443"}, "--webhook-bind-address: set --webhook-namespace or --webhook-cert-dir: templater does not run in a Pod, so the namespace of the Secret is unknown"},
		"number is too small":                         {[]string{"run", "--workers", "0"}, `--workers "0": use a number of at least 1`},
	} {
		t.Run(why, func(t *testing.T) {
			out, err := execute(t, row.args...)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("err = %v, want %q", err, row.want)
			}
			if strings.Count(out, "\n") > 2 {
				t.Errorf("besides the error, it prints:\n%s", out)
			}
		})
	}
}

func TestLogIsJSONWithoutTerminal(t *testing.T) {
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

// TestLogEntriesAreSanitizedAndShort logs untrusted text.
func TestLogEntriesAreSanitizedAndShort(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	defer klog.ClearLogger()
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		f := logFlags{format: format, level: "info"}
		ctx, err := f.setUp(t.Context(), &out)
		if err != nil {
			t.Fatal(err)
		}
		log := klog.FromContext(ctx)
		log.Error(errors.New("an error\n\u202e"+strings.Repeat("x", 200_000)), "failed\n", "name", "a\nb\u202e"+strings.Repeat("x", 200_000), "count", 7)
		log.Info("in a reconciliation", "stack", "one\ntwo")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || len(lines[0]) > 3*maxValueBytes || strings.Contains(out.String(), "\u202e") {
			t.Errorf("%s: %d lines, the first of %d bytes: %.1000q", format, len(lines), len(lines[0]), lines[0])
		}
		for _, want := range []string{"an error ", "a b\ufffdxxx", "count", "7"} {
			if !strings.Contains(lines[0], want) {
				t.Errorf("%s: no %q in %.1000q", format, want, lines[0])
			}
		}
		if !strings.Contains(lines[1], `one\ntwo`) {
			t.Errorf("%s: the stack trace has no line breaks: %s", format, lines[1])
		}
	}
}

// TestLogLevelsMatchHelp also covers logs of client-go without contextual logging.
func TestLogLevelsMatchHelp(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	defer klog.ClearLogger()
	defer func() {
		if err := setVerbosity(slog.LevelInfo); err != nil {
			t.Error(err)
		}
	}()
	help, err := execute(t, "run", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[string][]string{
		"error":   {"error"},
		"info":    {"error", "change"},
		"verbose": {"error", "change", "decision"},
		"debug":   {"error", "change", "decision", "event"},
	} {
		var out bytes.Buffer
		f := logFlags{format: "json", level: level}
		ctx, err := f.setUp(t.Context(), &out)
		if err != nil {
			t.Fatal(err)
		}
		logger := klog.FromContext(ctx)
		logger.Error(nil, "our error")
		logger.Info("our change")
		logger.V(2).Info("our decision")
		logger.V(4).Info("our event")
		logger.V(6).Info("our secret")
		klog.ErrorS(nil, "their error")
		klog.InfoS("their change")
		klog.V(2).InfoS("their decision")
		klog.V(4).InfoS("their event")
		klog.V(6).InfoS("their secret")
		slog.Error("slog error")
		slog.Info("slog change")
		klog.Flush()
		for _, what := range []string{"error", "change", "decision", "event", "secret"} {
			shown := slices.Contains(want, what)
			for _, who := range []string{"our", "their"} {
				if strings.Contains(out.String(), `"msg":"`+who+" "+what+`"`) != shown {
					t.Errorf("level %s: %s %s shown is %v, want %v", level, who, what, !shown, shown)
				}
			}
		}
		if got := strings.Contains(out.String(), `"msg":"slog change"`); got != slices.Contains(want, "change") {
			t.Errorf("level %s: slog line shown is %v", level, got)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("level %s: %q is not JSON", level, line)
			}
		}
		if !strings.Contains(help, level) {
			t.Errorf("the help does not mention level %s:\n%s", level, help)
		}
	}
}

var flagRow = regexp.MustCompile("(?m)^\\| `--([-a-z]+)` \\| `?([^`|]*?)`? \\|")

func TestEveryFlagIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, defined := map[string]string{}, map[string]string{}
	for _, row := range flagRow.FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = row[2]
	}
	newRunCommand().Flags().VisitAll(func(f *pflag.Flag) {
		defined[f.Name] = cmp.Or(f.DefValue, "empty")
	})
	if diff := gocmp.Diff(defined, documented); diff != "" {
		t.Errorf("flags and their defaults in the code and in docs/operate/operations.md (-code +page):\n%s", diff)
	}
}

func TestDeploymentUsesExistingFlags(t *testing.T) {
	text, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &deployment); err != nil {
		t.Fatal(err)
	}
	cmd, rest, err := newCommand("templater").Find(deployment.Spec.Template.Spec.Containers[0].Args)
	if err != nil || cmd.Name() != "run" {
		t.Fatalf("got the command %s and error %v, want run", cmd.Name(), err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Error(err)
	}
	if got := cmd.Flags().Args(); len(got) > 0 {
		t.Errorf("the Deployment has the arguments %v besides flags", got)
	}
}
