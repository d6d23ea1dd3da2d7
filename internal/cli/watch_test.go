package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestWatchRunsAgainAfterChanges(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	runs, done := make(chan struct{}), make(chan error)
	var stderr bytes.Buffer
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		select {
		case runs <- struct{}{}:
		case <-ctx.Done():
		}
		return errors.New("a\nb")
	}}
	AddWatch(cmd, func(args []string) []string { return args })
	cmd.SetArgs([]string{"--watch", folder, filepath.Join(folder, "missing", "file.yaml")})
	cmd.SetErr(&stderr)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	ran := func(why string) {
		t.Helper()
		select {
		case <-runs:
		case <-time.After(time.Minute):
			t.Fatalf("no run: %s", why)
		}
	}
	ran("at first")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte("a: b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml")
	ran("a new file")
	if err := os.Mkdir(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	ran("a new folder")
	write("below/b.json")
	ran("a file in a new folder")
	if err := os.Rename(filepath.Join(folder, "a.yaml"), filepath.Join(folder, "below", "b.json")); err != nil {
		t.Fatal(err)
	}
	ran("a replaced file")
	write(".swap.yaml")
	write("notes.txt")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("got error %v", err)
	}
	if got := stderr.String(); !strings.HasPrefix(got, "Error: a b\nWaiting for changes.\n") {
		t.Errorf("got %s", got)
	}
}

func TestWatchRejectsStandardInput(t *testing.T) {
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
	AddWatch(cmd, func(args []string) []string { return args })
	cmd.SetArgs([]string{"-w", "-"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("got %v", err)
	}
	cmd.SetArgs([]string{"-w=false", "-"})
	if err := cmd.Execute(); err != nil {
		t.Error(err)
	}
}
