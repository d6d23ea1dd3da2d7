package supervise

import "syscall"

// childAttributes make the kernel kill the children of a supervisor that was killed itself.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
