// Package version returns the version of the program.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Variable is the variable that the linker sets for a release (-X), and Unknown replaces unknown values.
const (
	Variable = "github.com/templater-dev/templater/internal/operator/version.released"
	Unknown  = "unknown"
)

// released is the version of a release, such as v1.2.3. It is empty in other builds.
var released string

// Info identifies the build of templater. No field is empty.
type Info struct {
	Version  string `json:"version"`  // v1.2.3, or the pseudo-version that Go derives from the commit, or (devel)
	Commit   string `json:"commit"`   // full hash, with +changes if the working tree was modified
	Go       string `json:"go"`       // such as go1.26.8
	Platform string `json:"platform"` // such as linux/amd64
}

// Get returns the build info of the running program.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return of(released, build)
}

// of combines the version set by the linker and the build info of Go. build may be nil.
func of(released string, build *debug.BuildInfo) Info {
	info := Info{Version: released, Commit: Unknown, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build == nil {
		build = &debug.BuildInfo{}
	}
	info.Version = cmp.Or(info.Version, build.Main.Version, Unknown)
	changes := ""
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			info.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changes = "+changes"
		}
	}
	if info.Commit != Unknown {
		info.Commit += changes
	}
	return info
}
