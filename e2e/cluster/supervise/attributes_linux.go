package supervise

import "syscall"

// childAttributes make the kernel kill the children when the supervisor dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
