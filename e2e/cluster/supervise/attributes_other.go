//go:build unix && !linux

package supervise

import "syscall"

// childAttributes: nothing ties a child's life to ours here; the recorded
// identities let `down` find what a killed supervisor left.
func childAttributes() *syscall.SysProcAttr { return nil }
