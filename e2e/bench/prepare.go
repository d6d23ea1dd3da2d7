package main

import (
	"context"
	"debug/buildinfo"
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

// prepare builds the operator, starts the cluster, and returns a function that stops it.
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
	machine := report.ThisMachine() // before the cluster adds load
	cluster, err := bed.Make(ctx, f.bed)
	if err != nil {
		return nil, nil, err
	}
	down := func() error { return cluster.Close(context.WithoutCancel(ctx)) }
	result := &report.Report{Date: time.Now().UTC(), Machine: machine, Versions: f.versions(ctx, cluster, binary), Settings: map[string]any{
		"rounds": f.bench.Rounds, "scale": f.bench.Scale, "floorWorkers": f.bench.FloorWorkers,
	}}
	if machine.Busy() {
		result.Note("the machine was busy with other work when this began (load %.1f on %d CPUs): the figures are noisy", machine.Load, machine.CPUs)
	}
	return &scenario.Bench{Options: f.bench, Bed: cluster, Binary: binary, Dir: dir, Report: result}, down, nil
}

// binary builds the operator unless a binary is given.
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

// versions are the versions of the compared programs and of the cluster.
func (f *runFlags) versions(ctx context.Context, cluster *bed.Bed, binary string) map[string]string {
	versions := map[string]string{"kubernetes": cluster.Version()}
	if out, err := exec.CommandContext(ctx, "git", "-C", f.bed.Root, "describe", "--always", "--dirty").Output(); err == nil {
		versions["commit"] = strings.TrimSpace(string(out))
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return versions // the operator is not a Go program
	}
	versions["operatorGo"] = info.GoVersion
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" || setting.Key == "vcs.modified" {
			versions["operator."+setting.Key] = setting.Value
		}
	}
	return versions
}
