package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// tool is a host program that a build or a node needs.
type tool struct{ name, why, install string }

var nodeTools = []tool{
	{"gcc", "runc has C code", "apt-get install gcc libc6-dev"},
	{"pkg-config", "runc finds libseccomp with it", "apt-get install pkg-config"},
	{"apt-get", "busybox, nft and libseccomp are Debian packages", "use a Debian or Ubuntu host, or --mode=kwok"},
	{"apt-cache", "dependencies of packages are looked up", "use a Debian or Ubuntu host, or --mode=kwok"},
	{"dpkg", "packages are unpacked", "use a Debian or Ubuntu host, or --mode=kwok"},
	{"mount", "the kubelet mounts volumes", "apt-get install mount"},
}

var goTool = tool{"go", "everything is built with it", "install Go 1.26 or newer"}

// Missing lists what the host lacks for the mode, one line each.
func Missing(mode layout.Mode) []string {
	var missing []string
	tools := []tool{goTool}
	if mode == layout.Node {
		missing = append(missing, missingRights()...)
		tools = append(tools, nodeTools...)
	}
	for _, t := range tools {
		if _, err := exec.LookPath(t.name); err != nil {
			missing = append(missing, fmt.Sprintf("%s is missing: %s; %s", t.name, t.why, t.install))
		}
	}
	return missing
}

// Resolve turns Auto into the best mode that the host supports.
func Resolve(mode layout.Mode) (layout.Mode, error) {
	switch mode {
	case layout.Node, layout.Kwok:
		return mode, nil
	case layout.Auto:
		if len(Missing(layout.Node)) == 0 {
			return layout.Node, nil
		}
		return layout.Kwok, nil
	}
	return "", fmt.Errorf("mode %q: want auto, node or kwok", mode)
}

func checkPrerequisites(ctx context.Context, mode layout.Mode) error {
	missing := Missing(mode)
	if len(missing) == 0 && mode == layout.Node {
		if err := linkStatically(ctx); err != nil {
			missing = append(missing, "gcc cannot link statically: apt-get install libc6-dev ("+err.Error()+")")
		}
	}
	if len(missing) > 0 {
		return errors.New("cannot build in mode " + string(mode) + ":\n  " + strings.Join(missing, "\n  "))
	}
	return nil
}

// linkStatically tests static linking, which building runc requires.
func linkStatically(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "templater-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "main.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		return err
	}
	return exec.CommandContext(ctx, "gcc", "-static", "-o", filepath.Join(dir, "main"), source).Run()
}
