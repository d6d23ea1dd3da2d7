package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionAndCommitFromBuildInfo(t *testing.T) {
	settings := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: modified}}
	}
	for why, row := range map[string]struct {
		released string
		build    *debug.BuildInfo
		version  string
		commit   string
	}{
		"a release says its version":     {"v1.2.3", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings("false")}, "v1.2.3", "abc"},
		"go install knows the module":    {"", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3", Unknown},
		"a clone with changes says so":   {"", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-1-abc+dirty"}, Settings: settings("true")}, "v0.0.0-1-abc+dirty", "abc+changes"},
		"no build information":           {"", nil, Unknown, Unknown},
		"without a commit, no changes":   {"", &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}}, Unknown, Unknown},
		"a version without notes of Go":  {"v1.2.3", nil, "v1.2.3", Unknown},
		"go test has no version of ours": {"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "(devel)", Unknown},
	} {
		want := Info{Version: row.version, Commit: row.commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
		if diff := cmp.Diff(want, of(row.released, row.build)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
	if got := Get(); got.Version == "" || got.Commit == "" {
		t.Errorf("got %+v, want no empty field", got)
	}
}
