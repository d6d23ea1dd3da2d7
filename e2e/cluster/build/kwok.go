package build

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

var kwokStep = step{
	name:    "kwok",
	why:     "plays nodes and Pods",
	took:    60 * time.Second,
	inputs:  []string{"kwok/go.*", "kwok/*.yaml"},
	version: "1",
	outputs: []string{"bin/kwok", "kwok/stages.yaml"},
	run: func(ctx context.Context, cache layout.Cache, p *progress) error {
		build := goBuild{dir: cache.Module("kwok"), out: "bin/", packages: []string{"tool"}}
		if err := build.run(ctx, cache, p); err != nil {
			return err
		}
		return writeStages(ctx, cache)
	},
}

// kwokStages are the stages of kwok in use, relative to kustomize/stage of its module.
var kwokStages = []string{
	"node/fast/node-initialize.yaml",
	"node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"pod/fast/pod-ready.yaml",
	"pod/fast/pod-delete.yaml",
}

// writeStages writes kwok's stages and ours, which let Pods terminate, to one file.
func writeStages(ctx context.Context, cache layout.Cache) error {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f={{.Dir}}", "sigs.k8s.io/kwok")
	command.Dir = cache.Module("kwok")
	out, err := command.Output()
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(cache.Module("kwok"), "*.yaml"))
	if err != nil {
		return err
	}
	for _, stage := range kwokStages {
		paths = append(paths, filepath.Join(strings.TrimSpace(string(out)), "kustomize", "stage", stage))
	}
	var documents []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents = append(documents, string(data))
	}
	if err := os.MkdirAll(cache.Path("kwok"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(cache.Path("kwok", "stages.yaml"), []byte(strings.Join(documents, "\n---\n")), 0o644)
}
