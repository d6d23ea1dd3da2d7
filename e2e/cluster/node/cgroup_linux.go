package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/templater-dev/templater/e2e/cluster/poll"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchy is a cgroup hierarchy: its mount point and, for v1, the mount options that name its controllers.
type hierarchy struct{ dir, options string }

// cgroupHierarchies returns the mount points of cgroups, as seen by the process: either the unified hierarchy (v2) or
// all those of v1.
//
// The v2 code was tested only on a machine whose controllers are in v1: the node gets its subtree and becomes Ready,
// but containers need cpu and memory in v2. It was not tested on a machine that boots with v2. Controllers that we
// enable at the top remain enabled.
func cgroupHierarchies() (unified bool, all []hierarchy, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &stat); err == nil && stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return true, []hierarchy{{dir: cgroupRoot}}, nil
	}
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return false, nil, err
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[2] != "cgroup" || filepath.Dir(fields[1]) != cgroupRoot {
			continue
		}
		all = append(all, hierarchy{dir: fields[1], options: v1Options(fields[3])})
	}
	if len(all) == 0 {
		return false, nil, errors.New("no cgroups are mounted below " + cgroupRoot)
	}
	return false, all, nil
}

// v1Options returns the mount options that select a v1 hierarchy.
func v1Options(options string) string {
	kept := slices.DeleteFunc(strings.Split(options, ","), func(option string) bool {
		switch option {
		case "rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec", "seclabel":
			return true
		}
		return strings.HasPrefix(option, "release_agent=") || option == "xattr" || option == "clone_children"
	})
	if i := slices.IndexFunc(kept, func(o string) bool { return strings.HasPrefix(o, "name=") }); i >= 0 {
		kept = slices.Insert(kept, i, "none")
	}
	return strings.Join(kept, ",")
}

// CheckCgroups returns an error if a real node cannot have its own cgroups.
func CheckCgroups() error {
	_, _, err := cgroupHierarchies()
	return err
}

// CreateCgroups creates the cgroup called name in every hierarchy.
func CreateCgroups(name string) error {
	unified, hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	if unified {
		if err := enableControllers(cgroupRoot); err != nil {
			return err
		}
	}
	for _, h := range hierarchies {
		dir := filepath.Join(h.dir, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make cgroup %s: %w", dir, err)
		}
		if err := inheritCPUSet(h.dir, dir); err != nil {
			return err
		}
	}
	return nil
}

// inheritCPUSet initializes a new v1 cpuset, which is empty and does not accept processes otherwise.
func inheritCPUSet(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		data, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another controller, or v2, where an empty cpuset means the parent's
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0); err != nil {
			return fmt.Errorf("set %s of %s: %w", file, dir, err)
		}
	}
	return nil
}

// joinCgroups moves the process into the cgroup called name.
func joinCgroups(name string) error {
	_, hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		file := filepath.Join(h.dir, name, "cgroup.procs")
		if err := os.WriteFile(file, []byte("0"), 0); err != nil { // 0 is the writing process
			return fmt.Errorf("join cgroup %s: %w", file, err)
		}
	}
	return nil
}

// mountCgroupV1 remounts the hierarchies: in our cgroup namespace each has our own cgroup as its root.
func mountCgroupV1(hierarchies []hierarchy) error {
	if err := mount("tmpfs", cgroupRoot, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, h := range hierarchies {
		if err := os.MkdirAll(h.dir, 0o755); err != nil {
			return err
		}
		if err := mount("cgroup", h.dir, "cgroup", 0, h.options); err != nil {
			return err
		}
	}
	return nil
}

// delegate lets the kubelet create cgroups with all controllers. In v2, a cgroup that delegates controllers cannot
// contain processes, so we move into a leaf.
func delegate() error {
	unified, _, err := cgroupHierarchies()
	if err != nil || !unified {
		return err
	}
	leaf := filepath.Join(cgroupRoot, "init")
	if err := os.MkdirAll(leaf, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("join cgroup %s: %w", leaf, err)
	}
	return enableControllers(cgroupRoot)
}

// enableControllers enables every controller of a v2 cgroup in its children.
func enableControllers(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(data)) {
		file := filepath.Join(dir, "cgroup.subtree_control")
		if err := os.WriteFile(file, []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("enable %s in %s: %w", controller, file, err)
		}
	}
	return nil
}

// RemoveCgroups removes the cgroup called name and its descendants from every hierarchy. Its processes must be
// terminating; it waits for them.
func RemoveCgroups(name string) error {
	_, hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		remove := func() error { return removeTree(filepath.Join(h.dir, name)) }
		if err := poll.For(10*time.Second, 20*time.Millisecond, remove); err != nil {
			return fmt.Errorf("remove cgroup: %w", err)
		}
	}
	return nil
}

// removeTree removes folders only: the files of a cgroup cannot be removed.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}
