// Package program builds the program of templater for any platform: what is in the image and what is in
// a release is the same, byte for byte.
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

// ParsePlatform reads SYSTEM/ARCHITECTURE, such as linux/arm64. Go knows which of them there are.
func ParsePlatform(text string) (Platform, error) {
	system, architecture, found := strings.Cut(text, "/")
	if !found || system == "" || architecture == "" || strings.Contains(architecture, "/") {
		return Platform{}, fmt.Errorf("%q is not of the form SYSTEM/ARCHITECTURE, such as linux/arm64", text)
	}
	return Platform{system, architecture}, nil
}

// String returns SYSTEM/ARCHITECTURE.
func (p Platform) String() string { return p.System + "/" + p.Architecture }

// File returns how the program called name is called as a file.
func (p Platform) File(name string) string {
	if p.System == "windows" {
		return name + ".exe"
	}
	return name
}

// Build returns the program for the platform, built from the operator's module in the folder source. A version
// that is not empty is what `templater version` says. In a clone, Go adds the commit. The same commit, version
// and Go make the same bytes, wherever the folder is. Tags choose what else is in it.
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

// Args are the arguments of go that leave out all that differs from one machine to the next. version may be empty.
func Args(version string) []string {
	flags := "-s -w"
	if version != "" {
		flags += " -X " + versionVariable + "=" + version
	}
	// Said here, -buildvcs wins over what go env has on this machine.
	return []string{"build", "-trimpath", "-buildvcs=auto", "-ldflags=" + flags}
}

var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// CheckVersion returns an error unless version is empty or one as Git tags, registries and Helm all take it.
func CheckVersion(version string) error {
	if version == "" || versions.MatchString(version) {
		return nil
	}
	return fmt.Errorf("%q is no version: give one of the form v1.2.3 or v1.2.3-rc.1", version)
}
