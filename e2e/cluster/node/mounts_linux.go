package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// mountAll gives the node its own /proc, /sys, /run, /var/lib and /var/log. The mounts are not visible outside the
// mount namespace.
func mountAll(c *layout.Cluster) error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := mountSys(); err != nil {
		return err
	}
	if err := mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, name := range []string{"lib", "log"} {
		if err := bindDir(c.Path("var", name), "/var/"+name); err != nil {
			return err
		}
	}
	if err := bindResolvConf(c); err != nil {
		return err
	}
	if err := fakeSysctls(); err != nil {
		return err
	}
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "") // propagate volumes into containers
}

func mountSys() error {
	unified, hierarchies, err := cgroupHierarchies() // before they are hidden by the new mounts
	if err != nil {
		return err
	}
	if err := unix.Unmount("/sys", unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount /sys: %w", err)
	}
	if err := mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return err
	}
	if unified {
		return mount("cgroup2", cgroupRoot, "cgroup2", 0, "")
	}
	return mountCgroupV1(hierarchies)
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, target, err)
	}
	return nil
}

func bindDir(source, target string) error {
	if err := os.MkdirAll(source, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s on %s: %w", source, target, err)
	}
	return nil
}

// bindResolvConf hides the host's name servers, which are unreachable. If /etc/resolv.conf links into /run, the link is
// dangling by now, which has the same effect.
func bindResolvConf(c *layout.Cluster) error {
	err := unix.Mount(c.Path("etc", "resolv.conf"), "/etc/resolv.conf", "", unix.MS_BIND, "")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("bind resolv.conf: %w", err)
	}
	return nil
}

// fakeSysctls shows the kubelet the expected values, which it would otherwise write to the host's kernel.
func fakeSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1",
		"vm/panic_on_oom":      "0",
		"kernel/panic":         "10",
		"kernel/panic_on_oops": "1",
	} {
		file := filepath.Join("/run", "sysctl."+strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, "/proc/sys/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind over sysctl %s: %w", name, err)
		}
	}
	return nil
}
