package testcluster

import (
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/e2e/cluster/proc"
)

// snapshot is what a cluster could leave on the host: mounts, cgroups, network interfaces, and folders in the usual
// locations. Entries of other running clusters are excluded.
type snapshot map[string]bool

func takeSnapshot(t *testing.T) snapshot {
	t.Helper()
	s := snapshot{}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err == nil { // Linux only
		for line := range strings.Lines(string(mounts)) {
			s["mount "+strings.TrimSpace(line)] = true
		}
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		s["interface "+i.Name] = true
	}
	s.addFolders("/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/var/lib/*", "/var/log/*", "/run/*", "/opt/*",
		"/etc/cni*", "/usr/libexec/*", "/usr/libexec/kubernetes/*/*/*")
	return s
}

func (s snapshot) addFolders(patterns ...string) {
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern) // fails only for malformed patterns
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err == nil && info.Mode().Type() == fs.ModeDir && !strings.Contains(path, "templater-cluster-") {
				s["folder "+path] = true
			}
		}
	}
}

func compareSnapshots(t *testing.T, before, after snapshot) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(after)) {
		if !before[what] {
			t.Errorf("left behind: %s", what)
		}
	}
}

// traces belong to exactly one cluster.
type traces struct {
	cluster   *Cluster
	processes map[string]proc.ID // by PID and command
}

// tracesOf records every process in the node's pid namespace, or, with kwok,
// in the session of the first process.
func tracesOf(t *testing.T, c *Cluster) traces {
	t.Helper()
	ids, err := proc.Recorded(c.RunDir())
	if err != nil {
		t.Fatal(err)
	}
	found := traces{cluster: c, processes: ids}
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", ids[initName].PID))
	if err != nil {
		return found
	}
	own, _ := os.Readlink("/proc/self/ns/pid")
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	for _, link := range links {
		if other, err := os.Readlink(link); err != nil || other != namespace || other == own {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		if id, err := proc.Of(pid); err == nil {
			found.processes[fmt.Sprint(pid)] = id
		}
	}
	return found
}

func (tr traces) checkGone(t *testing.T) {
	t.Helper()
	if len(tr.processes) < 2 {
		t.Errorf("only %d processes were found while the cluster was up", len(tr.processes))
	}
	for name, id := range tr.processes {
		if id.Alive() {
			t.Errorf("left behind: process %s (%d)", name, id.PID)
		}
	}
	for _, pattern := range []string{tr.cluster.Path(), "/sys/fs/cgroup/" + tr.cluster.Cgroup(), "/sys/fs/cgroup/*/" + tr.cluster.Cgroup()} {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			t.Errorf("left behind: %v", paths)
		}
	}
}
