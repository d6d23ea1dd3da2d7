package build

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
	"github.com/templater-dev/templater/tools/image/archive"
)

// imagesStep writes the images that are preloaded on every node. There is no registry to pull others from.
var imagesStep = step{
	name:    "images",
	why:     "pause and busybox, to be preloaded",
	took:    2 * time.Second,
	inputs:  []string{"pause/*.go"},
	version: "1",
	outputs: []string{"images/busybox.tar", "images/pause.tar"},
	run: func(ctx context.Context, cache layout.Cache, p *progress) error {
		if err := os.MkdirAll(cache.Path("images"), 0o755); err != nil {
			return err
		}
		if err := pauseImage(ctx, cache, p); err != nil {
			return err
		}
		return busyboxImage(ctx, cache)
	},
}

// pauseImage contains the pause program, which holds the namespaces of a Pod.
func pauseImage(ctx context.Context, cache layout.Cache, p *progress) error {
	build := goBuild{dir: cache.Module("pause"), out: "bin/pause", packages: []string{"."}}
	if err := build.run(ctx, cache, p); err != nil {
		return err
	}
	files, err := archive.FromPath(cache.Bin("pause"))
	if err != nil {
		return err
	}
	pause := archive.Image{Entrypoint: []string{"/pause"}, User: "65535:65535", Files: files}
	return pause.WriteFile(cache.Path("images", "pause.tar"), "localhost/pause:1")
}

func busyboxImage(ctx context.Context, cache layout.Cache) error {
	program := cache.Path("root", "bin", "busybox")
	body, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	applets, err := exec.CommandContext(ctx, program, "--list").Output()
	if err != nil {
		return err
	}
	busybox := archive.Image{Cmd: []string{"sh"}, Files: busyboxFiles(body, strings.Fields(string(applets)))}
	return busybox.WriteFile(cache.Path("images", "busybox.tar"), "busybox:1.35", "busybox:1.36", "busybox:latest")
}

func busyboxFiles(program []byte, applets []string) []archive.File {
	files := []archive.File{
		{Path: "bin", Mode: 0o755},
		{Path: "bin/busybox", Mode: 0o755, Body: program},
		{Path: "etc", Mode: 0o755},
		{Path: "etc/passwd", Mode: 0o644, Body: []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")},
		{Path: "etc/group", Mode: 0o644, Body: []byte("root:x:0:\nnogroup:x:65534:\n")},
		{Path: "root", Mode: 0o700},
		{Path: "tmp", Mode: 0o1777},
		{Path: "var", Mode: 0o755},
		{Path: "var/www", Mode: 0o755},
	}
	slices.Sort(applets)
	for _, applet := range applets {
		if applet != "busybox" {
			files = append(files, archive.File{Path: "bin/" + applet, Link: "busybox"})
		}
	}
	return files
}
