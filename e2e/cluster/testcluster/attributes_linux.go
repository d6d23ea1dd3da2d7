package testcluster

import (
	"syscall"

	"github.com/templater-dev/templater/e2e/cluster/layout"
)

// initAttributes make the first process of a real node start in its own namespaces. It creates the cgroup namespace itself,
// once it has entered its cgroup.
func initAttributes(mode layout.Mode) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true}
	if mode == layout.Node {
		attributes.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	}
	return attributes
}
