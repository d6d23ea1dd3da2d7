package node

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

const inCgroupEnv = "TEMPLATER_CLUSTER_IN_CGROUP"

// prepare sets up the namespaces (mount, network, pid, ipc, uts) that we were started in as a machine. It runs twice: a
// cgroup namespace belongs to one thread and has the cgroup of that thread as its root, so the first run enters the
// cluster's cgroup, creates the namespace, and executes the program again.
func prepare(c *layout.Cluster, specFile string) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("want to be PID 1 of a namespace, not %d", os.Getpid())
	}
	if os.Getenv(inCgroupEnv) == "" {
		return enterCgroup(c, specFile)
	}
	if err := unix.Sethostname([]byte(layout.NodeName)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := mountAll(c); err != nil {
		return err
	}
	if err := delegate(); err != nil {
		return err
	}
	return setUpNetwork()
}

func enterCgroup(c *layout.Cluster, specFile string) error {
	runtime.LockOSThread() // never unlocked: exec replaces this program; main has locked the first thread
	if err := joinCgroups(c.Cgroup()); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a cgroup namespace: %w", err)
	}
	program := c.Cache.Bin("cluster")
	err := unix.Exec(program, []string{program, "init", specFile}, append(os.Environ(), inCgroupEnv+"=1"))
	return fmt.Errorf("execute %s: %w", program, err)
}
