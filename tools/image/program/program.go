// Package program builds templater's program for any platform, so that the image and a release contain the same bytes.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Platform is an operating system and an architecture, as in GOOS and GOARCH.
type Platform struct{ System, Architecture string }

// ParsePlatform parses SYSTEM/ARCHITECTURE, such as linux/arm64. It leaves validation to Go.
func ParsePlatform(text string) (Platform, error) {
	system, architecture, found := strings.Cut(text, "/")
	if !found || system == "" || architecture == "" || strings.Contains(architecture, "/") {
		return Platform{}, fmt.Errorf("%q is not of the form SYSTEM/ARCHITECTURE, such as linux/arm64", text)
	}
	return Platform{system, architecture}, nil
}

// String returns SYSTEM/ARCHITECTURE.
func (p Platform) String() string { return p.System + "/" + p.Architecture }

// File returns the file name of the program called name.
func (p Platform) File(name string) string {
	if p.System == "windows" {
		return name + ".exe"
	}
	return name
}

// Build returns the program for the platform, built from the operator's module in the folder source. A non-empty
// version is printed by `templater version`. In a clone, Go embeds the commit. The same commit, version and Go version
// produce the same bytes, wherever the folder is. Tags are build tags.
func Build(ctx context.Context, source string, platform Platform, version string, tags ...string) ([]byte, error) {
	if err := CheckVersion(version); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, platform.File("templater"))
	build := exec.CommandContext(ctx, "go", append(Args(version), "-tags", strings.Join(tags, ","), "-o", out, "./cmd/templater")...)
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.System, "GOARCH="+platform.Architecture, "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build for %s: %w: %s", platform, err, text)
	}
	return os.ReadFile(out)
}

// versionVariable is version.Variable of the operator's module.
const versionVariable = "github.com/templater-dev/templater/internal/operator/version.released"

// Args are the arguments of go for a reproducible build. version may be empty.
func Args(version string) []string {
	flags := "-s -w"
	if version != "" {
		flags += " -X " + versionVariable + "=" + version
	}
	// An explicit -buildvcs takes precedence over this machine's go env.
	return []string{"build", "-trimpath", "-buildvcs=auto", "-ldflags=" + flags}
}

var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// CheckVersion returns an error unless version is empty, or valid as a Git tag, in registries and in Helm.
func CheckVersion(version string) error {
	if version == "" || versions.MatchString(version) {
		return nil
	}
	return fmt.Errorf("%q is not a valid version: give one of the form v1.2.3 or v1.2.3-rc.1", version)
}
