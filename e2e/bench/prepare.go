package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/bench/bed"
	"github.com/templater-dev/templater/e2e/bench/report"
	"github.com/templater-dev/templater/e2e/bench/scenario"
	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// prepare builds the operator, starts the cluster, and returns what takes it down.
func (f *runFlags) prepare(ctx context.Context, dir string) (*scenario.Bench, func() error, error) {
	cache, err := layout.Find(f.bed.Cache)
	if err != nil {
		return nil, nil, err
	}
	f.bed.Dir, f.bed.Root = dir, filepath.Dir(filepath.Dir(cache.Source))
	binary, err := f.binary(ctx)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := bed.Make(ctx, f.bed)
	if err != nil {
		return nil, nil, err
	}
	down := func() error { return cluster.Close(context.WithoutCancel(ctx)) }
	result := &report.Report{Date: time.Now().UTC(), Machine: report.ThisMachine(), Versions: f.versions(ctx, cluster, binary), Settings: map[string]any{
		"rounds": f.bench.Rounds, "scale": f.bench.Scale, "floorWorkers": f.bench.FloorWorkers,
	}}
	return &scenario.Bench{Options: f.bench, Bed: cluster, Binary: binary, Dir: dir, Report: result}, down, nil
}

// binary builds the operator unless there is one.
func (f *runFlags) binary(ctx context.Context) (string, error) {
	if f.operator != "" {
		return exec.LookPath(f.operator)
	}
	binary := filepath.Join(f.bed.Dir, "templater")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/templater")
	build.Dir = f.bed.Root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator (or give one with --operator): %w: %s", err, out)
	}
	return binary, nil
}

// versions are those of what is compared, and of what it runs on.
func (f *runFlags) versions(ctx context.Context, cluster *bed.Bed, binary string) map[string]string {
	versions := map[string]string{"kubernetes": cluster.Version()}
	for name, command := range map[string][]string{
		"commit":   {"git", "-C", f.bed.Root, "describe", "--always", "--dirty"},
		"operator": {"go", "version", "-m", binary},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output(); err == nil {
			versions[name] = strings.TrimSpace(firstOf(string(out), "vcs.revision="))
		}
	}
	return versions
}

// firstOf is the rest of the line behind the mark, or the first line if there is no mark.
func firstOf(text, mark string) string {
	if _, rest, ok := strings.Cut(text, mark); ok {
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}
