package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// debsStep unpacks a few Debian packages into the cache without installing them. root/ is used at run time, root-dev/
// to build runc.
var debsStep = step{
	name:    "debs",
	why:     "busybox for images, nft for kube-proxy, libseccomp for runc, out of Debian packages",
	took:    8 * time.Second,
	version: "1",
	outputs: []string{"root/usr/sbin/nft", "root/bin/busybox", "root-dev/usr/include/seccomp.h"},
	run:     unpackDebs,
}

func unpackDebs(ctx context.Context, cache layout.Cache, _ *progress) error {
	libraries, err := dependencies(ctx, "nftables")
	if err != nil {
		return err
	}
	if err := unpack(ctx, cache, "root", append(libraries, "busybox-static")); err != nil {
		return err
	}
	return unpack(ctx, cache, devRoot, []string{"libseccomp-dev", "libseccomp2"})
}

// dependencies returns the package and the libraries it needs that may not be installed. The C library must be the
// host's.
func dependencies(ctx context.Context, name string) ([]string, error) {
	args := []string{"depends", "--recurse", "--important", name}
	out, err := exec.CommandContext(ctx, "apt-cache", args...).Output()
	if err != nil || len(out) == 0 {
		if err := refresh(ctx, name); err != nil {
			return nil, err
		}
		if out, err = exec.CommandContext(ctx, "apt-cache", args...).Output(); err != nil {
			return nil, fmt.Errorf("apt-cache depends %s: %w", name, err)
		}
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		dependency := strings.TrimSpace(line)
		if line[0] != ' ' && line[0] != '<' && !fromHost(dependency) {
			names = append(names, dependency)
		}
	}
	return names, nil
}

func fromHost(name string) bool {
	return name == "libc6" || name == "libgcc-s1" || strings.HasPrefix(name, "gcc-") || name == "debconf" || name == "dpkg"
}

// refresh fetches the package lists. It ignores warnings and checks only that the package is known afterwards.
func refresh(ctx context.Context, name string) error {
	out, err := exec.CommandContext(ctx, "apt-get", "update", "-qq").CombinedOutput()
	if show := exec.CommandContext(ctx, "apt-cache", "show", name).Run(); show != nil {
		return fmt.Errorf("apt-get update does not make %s known (%w): %s", name, err, out)
	}
	return nil
}

// unpack downloads packages and unpacks them into a new folder of the cache.
func unpack(ctx context.Context, cache layout.Cache, folder string, names []string) error {
	debs := cache.Path("debs", folder)
	for _, dir := range []string{debs, cache.Path(folder)} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := download(ctx, debs, names); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if out, err := exec.CommandContext(ctx, "dpkg", "-x", file, cache.Path(folder)).CombinedOutput(); err != nil {
			return fmt.Errorf("unpack %s: %w: %s", file, err, out)
		}
	}
	return nil
}

// download retries once after fetching package lists, which may be missing or outdated.
func download(ctx context.Context, dir string, names []string) error {
	fetch := func() ([]byte, error) {
		// As root, apt would warn that its own user cannot write here.
		args := slices.Concat([]string{"-qq", "-o", "APT::Sandbox::User=root", "download"}, names)
		command := exec.CommandContext(ctx, "apt-get", args...)
		command.Dir = dir
		return command.CombinedOutput()
	}
	if _, err := fetch(); err == nil {
		return nil
	}
	if err := refresh(ctx, names[0]); err != nil {
		return err
	}
	if out, err := fetch(); err != nil {
		return fmt.Errorf("apt-get download %s: %w: %s", strings.Join(names, " "), err, out)
	}
	return nil
}
