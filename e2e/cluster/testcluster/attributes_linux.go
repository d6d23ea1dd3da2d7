package testcluster

import (
	"syscall"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// initAttributes put the first process of a real node into namespaces of its
// own. It makes the cgroup namespace itself, once it is in its cgroup.
func initAttributes(mode layout.Mode) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if mode == layout.Node {
		attributes.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	}
	return attributes
}
