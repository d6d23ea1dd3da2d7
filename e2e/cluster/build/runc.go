package build

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// devRoot is the folder for libseccomp's headers and static library.
const devRoot = "root-dev"

var runcStep = step{
	name:    "runc",
	why:     "starts the containers; needs gcc and libseccomp",
	took:    8 * time.Second,
	inputs:  []string{"runc/go.*"},
	version: runcVersion + "/1",
	outputs: []string{"bin/runc"},
	run:     buildRunc,
}

func buildRunc(ctx context.Context, cache layout.Cache, p *progress) error {
	libraries, err := cache.Libraries(devRoot)
	if err != nil {
		return err
	}
	return goBuild{
		dir: cache.Module("runc"), out: "bin/runc", packages: []string{"github.com/opencontainers/runc"},
		tags:    "seccomp netgo osusergo",
		ldflags: "-X main.version=" + runcVersion + " -extldflags '-static -L" + libraries + "'",
		env: []string{
			"CGO_ENABLED=1",
			"PKG_CONFIG_LIBDIR=" + filepath.Join(libraries, "pkgconfig"),
			"PKG_CONFIG_SYSROOT_DIR=" + cache.Path(devRoot),
		},
	}.run(ctx, cache, p)
}

func rename(from, to string) error {
	if _, err := os.Stat(from); os.IsNotExist(err) {
		return nil
	}
	return os.Rename(from, to)
}
