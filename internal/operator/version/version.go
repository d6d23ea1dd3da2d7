// Package version returns the version of the program.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Variable is what the linker sets for a release (-X), and Unknown what is not known.
const (
	Variable = "github.com/templater-dev/templater/internal/operator/version.released"
	Unknown  = "unknown"
)

// released is the version of a release, such as v1.2.3. It is empty in other builds.
var released string

// Info is which templater this is. No field is empty.
type Info struct {
	Version  string `json:"version"`  // v1.2.3, or what Go has made of the commit, or (devel)
	Commit   string `json:"commit"`   // the whole hash, with +changes where files differed from it
	Go       string `json:"go"`       // such as go1.26.8
	Platform string `json:"platform"` // such as linux/amd64
}

// Get returns which templater runs.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	return of(released, build)
}

// of puts together what the linker and what Go have noted. build may be nil.
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
