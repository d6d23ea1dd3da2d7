//go:build unix && !linux

package supervise

import "syscall"

// childAttributes is nil, because children cannot be tied to the supervisor here; `down` finds the processes of a
// killed supervisor by their recorded identities.
func childAttributes() *syscall.SysProcAttr { return nil }
